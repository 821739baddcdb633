"""The small statistics, against counting by hand and against figures of scipy."""

from __future__ import annotations

import itertools
import random
from statistics import median

import pytest

from diffprof.comparison.statistics import are_enough, outliers, rank_sum_test, signed_rank_test, time_ratio


def by_counting(before: list[float], after: list[float]) -> float:
    """Mann and Whitney's p, by going through all ways to share the samples out."""
    every = [*before, *after]

    def wins(mine: list[float], theirs: list[float]) -> int:
        return sum(one > other for one in mine for other in theirs)

    found = wins(before, after)
    all_wins = []
    for chosen in itertools.combinations(range(len(every)), len(before)):
        mine = [every[place] for place in chosen]
        theirs = [every[place] for place in range(len(every)) if place not in chosen]
        all_wins.append(wins(mine, theirs))
    tails = (sum(one <= found for one in all_wins), sum(one >= found for one in all_wins))
    return min(1.0, 2 * min(tails) / len(all_wins))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4), (5, 3), (5, 6)])
def test_the_rank_sum_test_counts_all_arrangements(m: int, n: int) -> None:
    source = random.Random(m * 10 + n)
    for _ in range(5):
        before, after = [source.random() for _ in range(m)], [source.random() + 0.3 for _ in range(n)]
        assert rank_sum_test(before, after) == pytest.approx(by_counting(before, after))


def test_the_signed_rank_test_counts_all_signs() -> None:
    source = random.Random(4)
    for size in (1, 4, 7):
        differences = [source.gauss(0.5, 1) for _ in range(size)]
        ranks = [sorted(map(abs, differences)).index(abs(one)) + 1 for one in differences]
        found = sum(rank for rank, one in zip(ranks, differences, strict=True) if one > 0)
        sums = [
            sum(rank for rank, plus in zip(ranks, signs, strict=True) if plus)
            for signs in itertools.product((0, 1), repeat=size)
        ]
        tails = (sum(one <= found for one in sums), sum(one >= found for one in sums))
        assert signed_rank_test(differences) == pytest.approx(min(1.0, 2 * min(tails) / len(sums)))


def test_statistics_equal_those_of_scipy() -> None:
    before = [12, 15, 15, 18, 21, 21, 21, 30, 31, 40]
    after = [14, 15, 22, 22, 25, 33, 35, 41, 41, 50, 52]
    assert rank_sum_test(before, after) == pytest.approx(0.06118417484975666, rel=1e-9), "ties: the normal curve"
    source = random.Random(5)
    untied = [source.gauss(10, 1) for _ in range(12)], [source.gauss(11, 1) for _ in range(15)]
    assert rank_sum_test(*untied) == pytest.approx(0.005288123581298975, rel=1e-9)
    assert signed_rank_test([3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5]) == pytest.approx(0.18101581250231868, rel=1e-9)
    assert signed_rank_test([3.1, -1.2, 4.3, 1.5, -5.6, 9.7, 2.8, 6.9, -5.05, 3.01, 5.02]) == 0.2060546875


def test_many_samples_are_tested_by_the_normal_curve_which_agrees_with_counting() -> None:
    source = random.Random(6)
    before, after = [source.random() for _ in range(50)], [source.random() + 0.1 for _ in range(50)]
    counted = rank_sum_test(before, after)
    assert rank_sum_test([*before, 0.5001], [*after, 0.5002]) == pytest.approx(counted, rel=0.1)


def test_equal_samples_show_nothing() -> None:
    assert rank_sum_test([5, 5, 5], [5, 5, 5]) == 1
    assert signed_rank_test([0.0, 0.0]) == 1
    ratio = time_ratio([7] * 20, [7] * 20, paired=False)
    assert (ratio.ratio, ratio.low, ratio.high, ratio.p_value) == (1, 1, 1, 1)


@pytest.mark.parametrize("paired", [False, True])
def test_the_interval_holds_the_ratio_and_is_the_same_each_time(paired: bool) -> None:
    source = random.Random(7)
    before = [round(1e6 * source.lognormvariate(0, 0.05)) for _ in range(20)]
    after = [round(1.3e6 * source.lognormvariate(0, 0.05)) for _ in range(20)]
    found = time_ratio(before, after, paired)
    assert found == time_ratio(before, after, paired)
    assert found.low < found.ratio < found.high
    assert 1.1 < found.low < 1.3 < found.high < 1.5
    assert found.p_value < 0.001
    if not paired:
        assert found.ratio == median(after) / median(before)


def test_more_samples_make_the_interval_narrower() -> None:
    source = random.Random(8)

    def width(count: int) -> float:
        draw = [[round(1e6 * source.lognormvariate(0, 0.05)) for _ in range(count)] for _ in range(2)]
        found = time_ratio(draw[0], draw[1], paired=False)
        return found.high - found.low

    assert width(320) < width(80) < width(20)


def test_correlated_neighbours_make_the_interval_wider_than_the_same_times_in_any_order() -> None:
    """Ten calls at one level and ten at another are two samples rather than twenty."""
    before = [1_000_000 + number for number in range(10)] + [1_300_000 + number for number in range(10)]
    after = [1_000_500 + number for number in range(20)]
    in_order = time_ratio(before, after, paired=False)
    shuffled = random.Random(1).sample(before, len(before))
    # Its middle lies between the levels: that is where drawing runs of neighbours shows.
    assert in_order.high - in_order.low >= (one := time_ratio(shuffled, after, paired=False)).high - one.low


def test_pairs_see_a_difference_that_is_far_smaller_than_the_noise_of_the_machine() -> None:
    source = random.Random(9)
    level = [source.uniform(1e8, 9e8) for _ in range(20)]
    before, after = [round(one) for one in level], [round(1.05 * one * source.gauss(1, 0.005)) for one in level]
    assert time_ratio(before, after, paired=True).low > 1.03
    assert time_ratio(before, after, paired=False).low < 1 < time_ratio(before, after, paired=False).high


def test_too_few_samples_cannot_show_anything() -> None:
    assert not are_enough(4, 4, paired=False)
    assert are_enough(5, 5, paired=False)
    assert not are_enough(3, 4, paired=False)
    assert are_enough(3, 20, paired=False)
    assert not are_enough(7, 7, paired=True)
    assert are_enough(8, 8, paired=True)


def test_outliers_are_far_from_the_others_on_either_side() -> None:
    steady = [100, 101, 99, 102, 98, 100, 101, 99]
    assert outliers([*steady, 250]) == (8,)
    assert outliers([20, *steady]) == (0,)
    assert outliers(steady) == ()
    assert outliers([100] * 8) == ()
