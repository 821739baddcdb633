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
def test_a_bar_is_never_longer_than_its_room(share: float, width: int) -> None:
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
