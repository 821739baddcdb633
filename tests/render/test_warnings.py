"""What to know before reading the numbers."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.profile import MacsRange
from diffprof.record.sizes import ResizedOutput
from diffprof.render.warnings import profile_warnings
from tests.sample_profiles import everything_measured, hostile, stable_diffusion


def test_nothing_is_said_where_nothing_is_odd() -> None:
    assert profile_warnings(stable_diffusion()) == []


def test_work_that_was_not_counted_is_named() -> None:
    assert "operations without a formula are not in the counts: aten::fft (1x)" in profile_warnings(hostile())


def test_sizes_and_a_range_of_macs_are_said() -> None:
    odd = replace(
        stable_diffusion(), resized=(ResizedOutput("height", 500, 512),), macs_range=MacsRange(10**12, 2 * 10**12)
    )
    resized, macs = profile_warnings(odd)
    assert "500" in resized and "512" in resized
    assert macs.startswith("MACs ")


def test_what_could_not_be_measured_comes_last() -> None:
    assert profile_warnings(everything_measured())[-1] == "One call could not be counted."
