"""How long operations keep a device busy, on a device of round numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.prediction.device import Device
from diffprof.prediction.kernel_times import KernelTimes, fixed_seconds, kernel_times
from diffprof.prediction.load_table import load_table
from diffprof.prediction.workload import ATTENTION, CONVOLUTION, MEMORY, VIEW, Load
from tests.prediction.samples import load_like, plain_device, workload_of_loads


def times(load: Load, device: Device | None = None, **options: bool) -> KernelTimes:
    return kernel_times(load_table(workload_of_loads(load)), device or plain_device(), **options)


def compute(load: Load, device: Device | None = None, **options: bool) -> float:
    return float(times(load, device, **options).compute[0])


def product(**sizes: Any) -> Load:
    return load_like(**{"batch": 1, "rows": 256, "columns": 128, "inner": 64, **sizes})


def device_with(**numbers: float) -> Device:
    device = plain_device()
    return replace(device, efficiency=replace(device.efficiency, **numbers))


def test_a_product_of_one_tile_runs_at_the_speed_of_the_device() -> None:
    assert compute(product()) == pytest.approx(2 * 256 * 128 * 64 / 1000)


def test_a_last_wave_of_one_tile_takes_as_long_as_a_full_one() -> None:
    device = plain_device(multiprocessors=4)
    four, five, eight = (compute(product(batch=number, rows=32, columns=32), device) for number in (4, 5, 8))
    assert four < five == eight == pytest.approx(2 * four)


def test_sizes_that_no_kernel_loads_at_once_are_slower() -> None:
    aligned, even, odd = (compute(product(columns=size)) for size in (128, 126, 127))
    assert aligned < even < odd
    amd = plain_device(family="cdna3")
    assert compute(product(columns=126), amd) == compute(product(columns=128), amd)


def test_a_processor_has_no_such_alignment() -> None:
    processor = plain_device(is_processor=True)
    assert compute(product(inner=63), processor) == pytest.approx(2 * 256 * 128 * 63 / 1000)


def test_convolutions_and_attention_reach_their_share_of_a_product() -> None:
    convolution = product(sort=CONVOLUTION, inner=576, taps=9)
    whole, half = (compute(convolution, device_with(convolution_share=share)) for share in (1.0, 0.5))
    assert half == pytest.approx(2 * whole)
    attention = product(sort=ATTENTION)
    whole, half = (compute(attention, device_with(attention_share=share)) for share in (1.0, 0.5))
    assert half == pytest.approx(2 * whole)


def test_a_mask_and_narrow_heads_make_attention_slower() -> None:
    slow = device_with(masked_attention_share=0.5, narrow_head_share=0.25)
    wide, narrow = product(sort=ATTENTION, inner=128), product(sort=ATTENTION, inner=64)
    assert compute(replace(wide, masked=True), slow) == pytest.approx(2 * compute(wide, slow))
    assert compute(narrow, slow) == pytest.approx(4 * compute(narrow))


def test_attention_that_is_not_fused_moves_its_scores() -> None:
    load = product(sort=ATTENTION)
    fused, unfused = (times(load, fused_attention=is_fused).memory[0] for is_fused in (True, False))
    assert (fused, unfused) == pytest.approx((0, 8 * 2 * 256 * 128 / 100))


def test_what_lies_in_the_cache_is_moved_faster() -> None:
    device = device_with(cache_speedup=4.0)
    small, large = (float(times(load_like(MEMORY, read_bytes=size), device).memory[0]) for size in (1, 1_000_000))
    assert small == pytest.approx(1 / 100 / 4, rel=0.01)
    assert large == pytest.approx(1_000_000 / 100, rel=0.01)


def test_a_view_takes_no_time_and_the_smallest_kernel_a_fixed_one() -> None:
    loads = [load_like(VIEW), load_like(MEMORY), load_like(MEMORY, "norm"), load_like(MEMORY, "reduction"), load_like()]
    view, plain, norm, reduction, gemm = fixed_seconds(load_table(workload_of_loads(*loads)), 3.0)
    assert view == 0 < plain < norm == 3.0 < reduction
    assert gemm > plain
    assert times(load_like(VIEW)).seconds[0] == 0


def test_compiling_leaves_a_share_of_what_is_no_product() -> None:
    device = device_with(compiled_passes=0.5, compiled_norm_passes=0.25)
    plain, norm = load_like(MEMORY, read_bytes=10**6), load_like(MEMORY, "norm", read_bytes=10**6)
    whole = times(plain).memory[0]
    assert times(plain, device, compiled=True).memory[0] == pytest.approx(whole / 2)
    assert times(norm, device, compiled=True).memory[0] == pytest.approx(whole / 4)


def test_convolutions_convert_their_input_and_output_but_not_their_weight() -> None:
    load = load_like(CONVOLUTION, read_bytes=10**6, written_bytes=10**6, weight_bytes=10**6)
    none, once = (times(load, device_with(conversion_passes=passes)).memory[0] for passes in (0.0, 1.0))
    assert once - none == pytest.approx(10**6 / 100, rel=1e-6)
