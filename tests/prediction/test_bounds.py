"""The bound of an operation, worked out by hand on a device of round numbers."""

from __future__ import annotations

import pytest

from diffprof.prediction.bounds import bound_seconds
from diffprof.prediction.device import DeviceModel
from diffprof.prediction.load_table import load_table
from diffprof.prediction.workload import ATTENTION, CONVOLUTION, MEMORY, Load
from tests.prediction.samples import load_like, plain_device, workload_of_loads


def bound(load: Load, device: DeviceModel | None = None, compiled: bool = False) -> float:
    return float(bound_seconds(load_table(workload_of_loads(load)), device or plain_device(), compiled)[0])


def test_products_take_two_operations_each_at_the_peak() -> None:
    assert bound(load_like(macs=500)) == pytest.approx(2 * 500 / 1000)


def test_what_the_cache_holds_before_and_after_is_not_moved() -> None:
    assert bound(load_like(MEMORY, read_bytes=300, written_bytes=200)) == pytest.approx((500 - 2 * 50) / 100)
    assert bound(load_like(MEMORY, read_bytes=60, written_bytes=40)) == 0


def test_a_compiler_may_leave_all_movement_out_but_no_product() -> None:
    load = load_like(macs=500, read_bytes=10_000)
    assert bound(load) == pytest.approx(99)
    assert bound(load, compiled=True) == pytest.approx(1)


def test_a_causal_mask_leaves_half_of_the_products() -> None:
    assert bound(load_like(ATTENTION, macs=500, causal=True)) == pytest.approx(0.5)


def test_winograd_needs_a_quarter_of_the_products_where_no_matrix_cores_are() -> None:
    load = load_like(CONVOLUTION, macs=500, taps=9)
    assert bound(load, plain_device(family="pascal")) == pytest.approx(0.25)
    assert bound(load, plain_device(family="hopper")) == pytest.approx(1)
