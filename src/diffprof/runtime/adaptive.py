"""Decide how often to repeat a call: until its median is known well, or the time budget is used up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

ENOUGH = 5
"""The fewest iterations with which two runs can differ significantly: their most extreme order has p < 0.01."""

LEAST = 3
"""The minimum, even if the time budget is used up: two values have no spread."""

MOST = 30
"""The maximum: more iterations would narrow the interval only slowly."""

NARROW = 0.04
"""The width at which the interval of the median is narrow enough, as a share of the median."""

CONFIDENCE = 0.95
"""The confidence of the interval of the median."""

TIME_BUDGET_SECONDS = 60.0
"""Time limit for all timed calls."""


def has_enough(walls_ns: Sequence[int], budget_seconds: float = TIME_BUDGET_SECONDS) -> bool:
    """Whether these timed calls are enough."""
    count = len(walls_ns)
    if count < LEAST:
        return False
    if count >= MOST or sum(walls_ns) / 1e9 >= budget_seconds:
        return True
    if count < ENOUGH:
        return False
    interval = median_interval(walls_ns)
    return interval is not None and interval[1] - interval[0] <= NARROW * median(walls_ns)


def median_interval(times: Sequence[int]) -> tuple[int, int] | None:
    """A distribution-free confidence interval of the median; None for too few times.

    The median lies between the k-th smallest and the k-th largest of n times unless fewer than k of them fall on
    one side of it, which has a binomial probability.
    """
    count = len(times)
    outside, below = 0.0, 0
    while outside + 2 * math.comb(count, below) / 2**count <= 1 - CONFIDENCE:
        outside += 2 * math.comb(count, below) / 2**count
        below += 1
    if not below:
        return None
    ordered = sorted(times)
    return ordered[below - 1], ordered[count - below]
