"""The dictionary that the guides call profiling data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.generation.profiling_data import profiling_data
from diffprof.record.measured import CountMismatch
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, iteration_on
from tests.sample_profiles import measured_profile


def without_matched_calls() -> Profile:
    """A run none of whose calls is matched with a counted one."""
    whole = iteration_on(CPU)
    samples = tuple(replace(sample, call=None) for sample in whole.samples)
    return measured_profile(iterations=[replace(whole, samples=samples)])


def test_the_throughput_is_the_counted_work_over_the_time() -> None:
    profile = without_matched_calls()
    data = profiling_data(profile, "a-model")
    expected = profile.total.flops / data["inference_time_seconds"] / 10**12
    assert data["throughput_tflops"] == pytest.approx(expected)


def test_a_note_about_something_else_leaves_the_throughput() -> None:
    profile = without_matched_calls()
    assert profile.measured is not None
    noted = replace(profile, measured=replace(profile.measured, notes=("the GPU reports no load",)))
    data = profiling_data(noted, "a-model")
    assert data["throughput_tflops"] is not None
    assert "the GPU reports no load" in data["notes"]


def test_a_run_that_differs_from_its_count_has_no_throughput() -> None:
    profile = without_matched_calls()
    assert profile.measured is not None
    mismatch = CountMismatch(0, "unet_forward")
    data = profiling_data(replace(profile, measured=replace(profile.measured, mismatches=(mismatch,))), "a-model")
    assert data["throughput_tflops"] is None
    assert any("the run and the count differ from unet_forward" in note for note in data["notes"])
