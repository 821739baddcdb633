"""Numbers read the same everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.render import numbers


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 MACs"),
        (999, "999 MACs"),
        (1_000, "1.00 KMACs"),
        (804_257_464_320, "804.26 GMACs"),
        (10_230_000_000_000, "10.23 TMACs"),
        (999_994, "999.99 KMACs"),
        (999_996, "1.00 MMACs"),
        (999_999_999_999, "1.00 TMACs"),
        (10**27, "1000.00 YMACs"),
    ],
)
def test_macs_have_a_prefix_and_a_unit(number: int, text: str) -> None:
    assert numbers.macs(number) == text


def test_parameters_read_as_on_model_cards() -> None:
    assert numbers.parameters(865_910_724) == "865.91M"
    assert numbers.parameters(11_901_408_320) == "11.90B"
    assert numbers.parameters(12) == "12"


def test_bytes_say_which_kind_of_giga_is_meant() -> None:
    assert numbers.gigabytes(2_579_904_854) == "2.58 GB"
    assert numbers.gibibytes(2_579_904_854) == "2.40 GiB"
    assert numbers.both_bytes(2_579_904_854) == "2.58 GB (2.40 GiB)"
    assert numbers.both_bytes(12) == "12 B"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1e-9, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.5, "50.0 %"),
        (0.9985, "99.9 %"),
        (0.9999, ">99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_reads_as_all_or_nothing_only_when_it_is(share: float, text: str) -> None:
    assert numbers.percent(share) == text


@given(st.floats(0, 1), st.integers(1, 40))
def test_a_bar_is_never_longer_than_its_width(share: float, width: int) -> None:
    assert len(numbers.bar(share, width)) <= width
    assert set(numbers.bar(share, width, ascii_only=True)) <= {"#"}


@given(st.integers(0, 10**30))
def test_exact_numbers_keep_every_digit(number: int) -> None:
    assert int(numbers.exact(number).replace(",", "")) == number


def test_runs_of_steps_are_short() -> None:
    assert numbers.ranges([]) == ""
    assert numbers.ranges([0]) == "0"
    assert numbers.ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_one_is_not_plural() -> None:
    assert numbers.times(1, "step") == "1 step"
    assert numbers.times(1_000, "step") == "1,000 steps"
    assert [numbers.times(count, "launch", "launches") for count in (1, 2)] == ["1 launch", "2 launches"]


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0 s"),
        (0.2, "1 ns"),
        (12, "12 ns"),
        (999.6, "1.00 us"),
        (50_000, "50.0 us"),
        (999_999, "1.00 ms"),
        (59_700_000, "59.7 ms"),
        (300_000_000, "300 ms"),
        (999_600_000, "1.00 s"),
        (45_234_000_000, "45.2 s"),
        (-1_500, "-1.50 us"),
    ],
)
def test_nanoseconds_have_the_unit_that_fits(time: float, text: str) -> None:
    assert numbers.nanoseconds(time) == text


def test_a_negative_duration_is_not_nothing() -> None:
    assert numbers.duration(-0.25) == "-0.250s"


@given(st.floats(1e-9, 1e6))
def test_nanoseconds_are_right_to_three_digits(seconds: float) -> None:
    text = numbers.nanoseconds(seconds * 1e9)
    unit = next(unit for unit in ("ns", "us", "ms", "s") if text.endswith(unit))
    written = float(text[: -len(unit)].replace(",", "")) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    assert written == pytest.approx(seconds, rel=0.0051, abs=0.6e-9)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.08977, "0.0898"),
        (5.386, "5.39"),
        (9.996, "10.0"),
        (17, "17.0"),
        (97.8, "97.8"),
        (99.96, "100"),
        (1203.4, "1,203"),
        (-2.9, "-2.90"),
    ],
)
def test_three_significant_digits_are_kept(number: float, text: str) -> None:
    assert numbers.significant(number) == text


def test_rates_have_a_unit() -> None:
    assert numbers.flops_per_second(1.234e12) == "1.23 TFLOP/s"
    assert numbers.per(0.4993, "it") == "0.499 it/s"
    assert numbers.per(5.386, "images", "min") == "5.39 images/min"


def test_a_factor_reads_as_once_only_when_it_is() -> None:
    assert [numbers.factor(ratio) for ratio in (1, 1.001, 1.31, 2)] == ["1.00x", "about 1x", "1.31x", "2.00x"]


def test_a_sparkline_goes_from_nothing_to_the_largest() -> None:
    assert numbers.sparkline([0, 5, 10], 10) == "▁▅█"
    assert numbers.sparkline([0, 5, 10], 10, ascii_only=True) == "_+#"
    assert numbers.sparkline([], 10) == numbers.sparkline([0, 0], 10) == ""


@given(st.lists(st.floats(0, 1e9), max_size=200), st.integers(1, 60))
def test_a_sparkline_is_never_longer_than_its_width(values: list[float], width: int) -> None:
    assert len(numbers.sparkline(values, width)) <= width


def test_of_neighbours_that_share_a_bar_the_largest_is_shown() -> None:
    assert numbers.sparkline([10, 0, 0, 0], 2) == "█▁"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (1_171_628_656, "1,171.629 ms"),
        (0, "0.000 ms"),
        (499, "<0.001 ms"),
        (500, "0.001 ms"),
        (-2_990_000, "-2.990 ms"),
    ],
)
def test_milliseconds_have_three_places_and_never_round_to_0(nanoseconds: int, text: str) -> None:
    assert numbers.milliseconds(nanoseconds) == text


def test_power_is_told_in_whole_watts() -> None:
    assert [numbers.watts(power) for power in (7.25, 61.0, 349.6, 1400.0)] == ["7.2 W", "61 W", "350 W", "1,400 W"]


def test_what_is_seen_first_has_three_significant_digits() -> None:
    assert numbers.macs(804_257_464_320, brief=True) == "804 GMACs"
    assert numbers.macs(999_600_000_000, brief=True) == "1.00 TMACs"
    assert numbers.parameters(11_901_408_320, brief=True) == "11.9B"
    assert numbers.gibibytes(39_450_000_000, brief=True) == "36.7 GiB"
