"""Statistics of several times of the same thing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Times in nanoseconds: whole ones where they were measured, others where they are derived."""

    count: int
    total_ns: int
    mean_ns: float
    median_ns: float
    min_ns: int
    max_ns: int
    std_ns: float | None
    """Around the mean (divided by count - 1); None for a single one, which has no deviation."""
    p95_ns: float
    """Linear between the two nearest ranks."""


def spread_of(times: Sequence[int]) -> Spread:
    """The statistics of at least one time."""
    several = len(times) > 1
    return Spread(
        count=len(times),
        total_ns=sum(times),
        mean_ns=sum(times) / len(times),
        median_ns=statistics.median(times),
        min_ns=min(times),
        max_ns=max(times),
        std_ns=statistics.stdev(times) if several else None,
        p95_ns=statistics.quantiles(times, n=20, method="inclusive")[-1] if several else float(times[0]),
    )
