"""What an accelerator reaches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device import basis_of, device_of, power_share, vector_power_share
from tests.prediction.samples import plain_device


def test_single_precision_is_rounded_to_tf32_in_convolutions_only() -> None:
    device = plain_device(peaks={"float32": 100.0, "tf32": 400.0})
    assert (device.peak("float32"), device.peak("float32", convolution=True)) == (100, 400)
    assert device.fastest_peak("float32") == 400


def test_what_has_no_peak_of_its_own_is_computed_as_something_else() -> None:
    device = plain_device()
    assert device.peak("float8_e4m3fn") == device.peaks["float16"]
    assert device.peak("float64") == device.peaks["float32"] / 32
    assert device.peak("int64") == device.peaks["float32"]


def test_matrix_cores_are_there_for_the_dtypes_that_have_a_peak() -> None:
    device = plain_device()
    assert [device.uses_matrix_cores(dtype) for dtype in ("float16", "bfloat16", "float32")] == [True, False, False]
    assert not plain_device(family="pascal").uses_matrix_cores("float16")


def test_a_board_of_half_the_chips_speed_may_be_twice_as_fast_as_its_peak() -> None:
    server, card = (
        plain_device(family="ada", peaks={"float16": 200.0, "float32": 100.0}, is_geforce=g) for g in (0, 1)
    )
    assert server.fastest_peak("float32") == 200
    assert (card.fastest_peak("float32"), card.fastest_peak("float16")) == (100, 400)
    assert plain_device().fastest_peak("float16") == 1000  # ten times its vector units: nothing is held back


def test_power_that_is_far_more_than_needed_limits_nothing() -> None:
    accelerator = find_accelerator("h100-sxm")
    efficiency = device_of(accelerator).efficiency
    share = [power_share(replace(accelerator, board_power_watts=watts), efficiency) for watts in (100, 700, 1e6)]
    assert share == sorted(share) and share[-1] == pytest.approx(1)
    assert power_share(replace(accelerator, architecture="cpu"), efficiency) == 1


def test_only_chips_of_an_old_process_are_limited_without_matrix_cores() -> None:
    assert vector_power_share(find_accelerator("h100-sxm")) == 1
    assert vector_power_share(find_accelerator("t4")) < 1


def test_numbers_that_are_not_published_are_taken_from_what_is_usual() -> None:
    unknown = replace(
        find_accelerator("l4"), multiprocessors=None, l2_cache_bytes=None, host_link_bytes_per_second=None,
        bandwidth_bytes_per_second=120e9,
    )  # fmt: skip
    device = device_of(unknown)
    assert (device.multiprocessors, device.cache_bytes, device.host_link) == (10, 32 * 1024**2, 25e9)


def test_the_basis_is_the_device_its_family_or_nothing() -> None:
    known = find_accelerator("h100-sxm")
    sibling = replace(known, name="h100-of-tomorrow")
    assert (basis_of(known), basis_of(sibling)) == ("device", "family")
    assert basis_of(replace(known, name="other", architecture="quantum")) == "none"


def test_a_processor_is_one_multiprocessor() -> None:
    device = device_of(replace(find_accelerator("l4"), architecture="cpu"))
    assert (device.is_processor, device.multiprocessors) == (True, 1)
