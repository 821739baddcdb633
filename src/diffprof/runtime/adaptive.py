"""How often a call is repeated by default: until its median is known well, or its time budget is used up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

ENOUGH = 5
"""Two runs of this many iterations can be told apart: their most extreme order is rarer than 1 in 100."""

LEAST = 3
"""Made even where the time budget is used up earlier: two values show a difference, not a spread."""

MOST = 30
"""More would make the interval narrower only slowly."""

NARROW = 0.04
"""An interval of the median this wide, as a share of the median, is narrow enough."""

CONFIDENCE = 0.95
"""Of the interval of the median."""

TIME_BUDGET_SECONDS = 60.0
"""For the timed calls together."""


def has_enough(walls_ns: Sequence[int], budget_seconds: float = TIME_BUDGET_SECONDS) -> bool:
    """Whether calls that took these times are enough."""
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
    """The interval that holds the median with `CONFIDENCE`, whatever the distribution; None for too few times.

    The median lies between the k-th smallest and the k-th largest of n times unless fewer than k of them fall on
    one side of it, which is a matter of tossing n coins.
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
