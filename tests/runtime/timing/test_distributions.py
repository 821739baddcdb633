"""Many samples in little memory: exact where that is promised, close where it is not."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.runtime.timing.distributions import Distribution, summary_of

SAMPLES = st.lists(st.integers(0, 10**12), min_size=1, max_size=200)


def distribution_of(samples: list[int], capacity: int = 4096, at_once: int = 7) -> Distribution:
    made = Distribution(capacity)
    for start in range(0, len(samples), at_once):
        made.add(samples[start : start + at_once])
    return made


@settings(deadline=None)
@given(SAMPLES, st.integers(1, 50))
def test_what_is_exact_is_exact_however_few_samples_are_kept(samples: list[int], capacity: int) -> None:
    found = distribution_of(samples, capacity)
    summary = found.summary()
    assert (found.count, found.total) == (len(samples), sum(samples))
    assert (summary.min, summary.max) == (min(samples) / 1e9, max(samples) / 1e9)
    assert summary.mean == pytest.approx(statistics.fmean(samples) / 1e9)
    deviation = statistics.stdev(samples) / 1e9 if len(samples) > 1 else 0.0
    assert summary.std == pytest.approx(deviation, rel=1e-9, abs=1e-15)
    assert len(found.kept) == min(capacity, len(samples))
    assert set(found.kept) <= set(samples)


@settings(deadline=None)
@given(SAMPLES)
def test_median_and_percentile_are_exact_while_all_samples_are_kept(samples: list[int]) -> None:
    found = distribution_of(samples)
    assert found.complete
    assert found.summary().median == pytest.approx(statistics.median(samples) / 1e9)
    if len(samples) > 1:
        p95 = statistics.quantiles(samples, n=20, method="inclusive")[-1]
        assert found.summary().p95 == pytest.approx(p95 / 1e9)


def test_nearly_equal_large_samples_keep_their_deviation() -> None:
    hour = 3600 * 10**9
    assert distribution_of([hour, hour + 2]).summary().std == pytest.approx(2**0.5 / 1e9)


def test_each_sample_has_the_same_chance_to_be_kept() -> None:
    found = distribution_of(list(range(100_000)), capacity=1000, at_once=512)
    assert not found.complete
    # Of each tenth of the samples about a hundred are kept: 10 standard deviations are 95.
    tenths = [sum(sample // 10_000 == tenth for sample in found.kept) for tenth in range(10)]
    assert all(5 < kept < 195 for kept in tenths), tenths
    assert found.summary().median == pytest.approx(50_000 / 1e9, rel=0.15)
    assert found.summary().p95 == pytest.approx(95_000 / 1e9, rel=0.05)


def test_the_choice_repeats() -> None:
    samples = random.Random(7).choices(range(10**6), k=5000)
    assert distribution_of(samples, 100).kept == distribution_of(samples, 100).kept


def test_how_samples_are_grouped_makes_no_difference() -> None:
    samples = random.Random(8).choices(range(10**6), k=3000)
    assert distribution_of(samples, 100, 1).kept == distribution_of(samples, 100, 999).kept


def test_a_small_distribution_does_not_outweigh_a_large_one() -> None:
    many = distribution_of([10] * 100_000, capacity=100, at_once=1000)
    few = distribution_of([99] * 90, capacity=100)
    both = summary_of([many, few])
    assert (both.count, both.max) == (100_090, 99 / 1e9)
    assert (both.median, both.p95) == (10 / 1e9, 10 / 1e9)


def test_distributions_that_kept_everything_are_exact_together() -> None:
    both = summary_of([distribution_of([1, 5]), distribution_of([2, 9, 4])])
    assert (both.median, both.count) == (4 / 1e9, 5)
