"""Statistics of a few times, checked by hand and against those of `TimingStats`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.breakdown.spreads import Spread, spread_of
from diffprof.runtime.timing.distributions import NANOSECONDS, Distribution


def test_the_statistics_of_four_times() -> None:
    assert spread_of([10, 20, 30, 100]) == Spread(
        count=4,
        total_ns=160,
        mean_ns=40.0,
        median_ns=25.0,
        min_ns=10,
        max_ns=100,
        std_ns=pytest.approx((5000 / 3) ** 0.5),  # type: ignore[arg-type]
        p95_ns=pytest.approx(30 + 0.85 * 70),  # type: ignore[arg-type]
    )


def test_one_time_has_no_deviation() -> None:
    assert spread_of([7]) == Spread(1, 7, 7.0, 7, 7, 7, None, 7.0)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=40))
def test_they_are_those_of_the_timing_statistics(times: list[int]) -> None:
    ours, other = spread_of(times), Distribution()
    other.add(times)
    theirs = other.summary()
    for name in ("mean", "median", "std", "p95"):
        assert getattr(ours, f"{name}_ns") / NANOSECONDS == pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-12)
