"""How often a call is repeated where nobody said."""

from __future__ import annotations

from diffprof.runtime.adaptive import ENOUGH, LEAST, MOST, has_enough, median_interval

SECOND = 1_000_000_000


def test_five_equal_times_are_too_few_for_an_interval_and_six_are_enough() -> None:
    assert median_interval([SECOND] * 5) is None
    assert median_interval([SECOND] * 6) == (SECOND, SECOND)
    assert [has_enough([SECOND] * count) for count in (1, LEAST, ENOUGH, 6)] == [False, False, False, True]


def test_the_interval_of_the_median_leaves_out_what_coins_allow() -> None:
    # With 20 times, fewer than 6 fall on one side of the median in 4.1 % of the cases.
    assert median_interval(list(range(1, 21))) == (6, 15)


def test_scattered_times_are_repeated_until_there_are_most() -> None:
    scattered = [SECOND // 1000 * (1 + number % 2) for number in range(MOST)]
    assert [has_enough(scattered[:count]) for count in (10, MOST - 1, MOST)] == [False, False, True]


def test_a_used_up_budget_ends_it_but_not_before_there_is_a_spread() -> None:
    assert [has_enough([40 * SECOND] * count) for count in (2, LEAST)] == [False, True]
    assert not has_enough([40 * SECOND] * LEAST, budget_seconds=1000)
