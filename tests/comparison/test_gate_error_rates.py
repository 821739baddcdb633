"""How often the gate is wrong about times, on noise from a seed; `benchmarks/gate.py` shows it on a real machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from diffprof.comparison import Pair
from diffprof.comparison.gate import FAILED, TOO_NOISY, gate, parse_limits
from diffprof.comparison.times import time_changes
from diffprof.record.profile import Profile
from tests.comparison.noise import busy_in_turns, busy_one_after_the_other, quiet, run_of

SAMPLES = 20
PAIRS = 100

Runs = Callable[[random.Random, int, float], tuple[Profile, Profile]]


def quiet_runs(source: random.Random, count: int, slowdown: float) -> tuple[Profile, Profile]:
    return run_of(quiet(source, count)), run_of(quiet(source, count, slowdown))


def outcomes(runs: Runs, slowdown: float, seed: int, limits: str = "time=+5%", pairs: int = PAIRS) -> Counter[str]:
    source = random.Random(seed)
    found = []
    for _ in range(pairs):
        before, after = runs(source, SAMPLES, slowdown)
        pair = Pair((), (), (), (), time_changes(before, after))
        found.append(gate(pair, parse_limits(limits)).outcome)
    return Counter(found)


@pytest.mark.parametrize("runs", [quiet_runs, busy_in_turns, busy_one_after_the_other])
def test_the_same_code_fails_in_at_most_one_of_a_hundred(runs: Runs) -> None:
    assert outcomes(runs, 1.0, seed=1)[FAILED] <= PAIRS / 100


def test_the_same_code_fails_no_more_often_where_nothing_may_get_slower() -> None:
    """Then only the rank test is between chance and an alarm: it takes equal code for slower in 1 of 200."""
    assert outcomes(busy_in_turns, 1.0, seed=5, limits="time=+0%")[FAILED] <= PAIRS / 100


@pytest.mark.parametrize("runs", [quiet_runs, busy_in_turns])
def test_code_that_is_a_tenth_slower_is_found_in_at_least_95_of_a_hundred(runs: Runs) -> None:
    assert outcomes(runs, 1.1, seed=2)[FAILED] >= 0.95 * PAIRS


def test_consecutive_runs_on_a_shared_machine_are_inconclusive() -> None:
    """And says so, whatever the code does: what others did in the meantime is many times as large."""
    assert outcomes(busy_one_after_the_other, 1.0, seed=3, pairs=40) == {TOO_NOISY: 40}
    assert outcomes(busy_one_after_the_other, 1.1, seed=4, pairs=40) == {TOO_NOISY: 40}
