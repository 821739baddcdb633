"""Statistics of repeated timings."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Statistics of times in nanoseconds; measured values are integers, derived ones are floats."""

    count: int
    total_ns: int
    mean_ns: float
    median_ns: float
    min_ns: int
    max_ns: int
    std_ns: float | None
    """Sample standard deviation (divided by count - 1); None for a single time."""
    p95_ns: float
    """Interpolated linearly between the two nearest ranks."""


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
