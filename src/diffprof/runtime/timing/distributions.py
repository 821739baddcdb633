"""Statistics of many samples in little memory: sums are exact, quantiles come from a random subset."""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from operator import mul

KEPT_SAMPLES = 4096
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Summary:
    """Statistics of one set of samples; times in seconds."""

    count: int
    total: float
    mean: float
    min: float
    max: float
    median: float
    std: float
    """Sample standard deviation (divided by count - 1); 0 for a single sample."""
    p95: float

    def to_dict(self) -> dict[str, int | float]:
        return asdict(self)


class Distribution:
    """Samples in whole nanoseconds.

    Count, total, mean, minimum, maximum and standard deviation are exact for any number of samples, because they are
    computed from sums of integers. Median and 95th percentile are exact up to `capacity` samples; beyond that, each
    sample is kept with the same probability (algorithm L, Li 1994), with a fixed seed.
    """

    __slots__ = (
        "_generator", "_next_taken", "_threshold", "capacity", "count", "kept", "maximum", "minimum", "squares",
        "total",
    )  # fmt: skip

    def __init__(self, capacity: int = KEPT_SAMPLES) -> None:
        self.capacity = capacity
        self.count = 0
        self.total = 0
        self.squares = 0
        self.minimum = 0
        self.maximum = 0
        self.kept = array("q")
        # A random generator takes 2.5 kB, so only distributions that overflow get one.
        self._generator: random.Random | None = None
        self._threshold = 1.0
        self._next_taken = 0

    def add(self, samples: Sequence[int]) -> None:
        if not samples:
            return
        lowest, highest = min(samples), max(samples)
        self.minimum = min(self.minimum, lowest) if self.count else lowest
        self.maximum = max(self.maximum, highest) if self.count else highest
        self.total += sum(samples)
        self.squares += sum(map(mul, samples, samples))
        self._keep(samples)
        self.count += len(samples)

    @property
    def complete(self) -> bool:
        """Whether every sample is kept, in order."""
        return self.count == len(self.kept)

    def samples_seconds(self) -> list[float]:
        """The kept samples; all of them in order if the distribution is complete."""
        return [sample / NANOSECONDS for sample in self.kept]

    def summary(self) -> Summary:
        return summary_of([self])

    def _keep(self, samples: Sequence[int]) -> None:
        free = self.capacity - len(self.kept)
        self.kept.extend(samples[:free])
        if len(samples) <= free:
            return
        if self._generator is None:
            self._generator = random.Random(0)
            self._next_taken = self.capacity - 1
            self._skip(self._generator)
        while self._next_taken < self.count + len(samples):
            self.kept[self._generator.randrange(self.capacity)] = samples[self._next_taken - self.count]
            self._skip(self._generator)

    def _skip(self, generator: random.Random) -> None:
        """Choose the next sample to keep, which needs far fewer random numbers than one for each sample."""
        # 1 - random() is in (0, 1], whose logarithm exists.
        self._threshold *= math.exp(math.log(1.0 - generator.random()) / self.capacity)
        below = math.log1p(-self._threshold) if self._threshold < 1 else -math.inf
        gap = math.log(1.0 - generator.random()) / below if below else math.inf
        self._next_taken += int(min(gap, 2.0**62)) + 1


def summary_of(distributions: Iterable[Distribution]) -> Summary:
    """One summary of several distributions, of which at least one must have a sample."""
    found = [one for one in distributions if one.count]
    count = sum(one.count for one in found)
    total = sum(one.total for one in found)
    squares = sum(one.squares for one in found)
    # The numerator is an integer, so no precision is lost if all samples are nearly equal.
    variance = max(count * squares - total * total, 0) / (count * (count - 1)) if count > 1 else 0.0
    median, p95 = _quantiles(found, (0.5, 0.95))
    return Summary(
        count=count,
        total=total / NANOSECONDS,
        mean=total / count / NANOSECONDS,
        min=min(one.minimum for one in found) / NANOSECONDS,
        max=max(one.maximum for one in found) / NANOSECONDS,
        median=median / NANOSECONDS,
        std=math.sqrt(variance) / NANOSECONDS,
        p95=p95 / NANOSECONDS,
    )


def _quantiles(distributions: Sequence[Distribution], shares: Sequence[float]) -> list[float]:
    if all(one.complete for one in distributions):
        ordered = sorted(sample for one in distributions for sample in one.kept)
        return [_between_ranks(ordered, share) for share in shares]
    # A kept sample has the weight count / kept, so that a small series does not weigh as much as a large one.
    weighted = sorted((sample, one.count / len(one.kept)) for one in distributions for sample in one.kept)
    reached = list(accumulate(weight for _, weight in weighted))
    return [float(weighted[min(bisect_left(reached, share * reached[-1]), len(reached) - 1)][0]) for share in shares]


def _between_ranks(ordered: Sequence[int], share: float) -> float:
    """Interpolate between the two nearest ranks, so that the median of an even number is the mean of the middle two."""
    place = share * (len(ordered) - 1)
    lower = math.floor(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (place - lower)
