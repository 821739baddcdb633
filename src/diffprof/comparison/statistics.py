"""Test whether two series of times differ, even if they were measured on a machine with other load.

Such times are skewed, have outliers, and are autocorrelated. So medians are compared, the confidence interval of their
ratio is a block bootstrap, and a rank test has to agree before anything is called a difference. Times that were
measured in turns are compared pair by pair, because other load affects both of a pair.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist, median

CONFIDENCE = 0.99
"""Confidence of the rank test, which has to agree with the interval: equal code is called slower in less than 1 of 200
cases."""

INTERVALS = {False: 0.99, True: 0.95}
"""Confidence of the interval, by whether the times are paired. Without pairs, the interval also has to cover changes of
other load, which the rank test takes for a difference."""

RESAMPLES = 2000
KEPT_UP_TO = 100
"""Resamples of longer series are not cached, because they take too much memory."""

SEED = 20
"""Fixed, so that the same times give the same interval."""

OUTLIER_DEVIATIONS = 3.5
"""Outliers are this many robust standard deviations away from the median (Iglewicz and Hoaglin)."""

EXACT_UP_TO = 50
"""With up to this many samples, a rank test is exact; with more, the normal approximation is good enough."""


@dataclass(frozen=True)
class Ratio:
    """The ratio of two times, with its confidence interval."""

    ratio: float
    """The ratio of the medians; for paired times, the median of the ratios of the pairs."""
    low: float
    high: float
    p_value: float
    """The p-value of the rank test: how often equal code would differ at least as much."""


def time_ratio(before: Sequence[int], after: Sequence[int], paired: bool) -> Ratio:
    """The ratio of `after` to `before`; `paired` if times at the same positions belong together."""
    if paired:
        ratios = [later / earlier for earlier, later in zip(before, after, strict=True)]
        resampled = sorted(_medians(ratios, _resamples(len(ratios), 1)[0]))
        middle, p_value = median(ratios), signed_rank_test([math.log(ratio) for ratio in ratios])
    else:
        # The cube root of the length is the usual block length for correlated samples.
        lengths = [size for series in (before, after) for size in (len(series), round(len(series) ** (1 / 3)))]
        earlier, later = (_medians(*side) for side in zip((before, after), _resamples(*lengths), strict=True))
        resampled = sorted(second / first for first, second in zip(earlier, later, strict=True))
        middle, p_value = median(after) / median(before), rank_sum_test(before, after)
    cut = round((1 - INTERVALS[paired]) / 2 * RESAMPLES)
    return Ratio(middle, min(resampled[cut], middle), max(resampled[-1 - cut], middle), p_value)


def are_enough(before: int, after: int, paired: bool) -> bool:
    """Whether this many samples can be significant at all: their most extreme order must be improbable enough."""
    rarest = 0.5 ** (before - 1) if paired else 2 / math.comb(before + after, before)
    return rarest <= 1 - CONFIDENCE


def outliers(times: Sequence[int]) -> tuple[int, ...]:
    """The positions of outliers; logarithms are used, because times are skewed."""
    logs = [math.log(time) for time in times]
    middle = median(logs)
    deviation = median(abs(log - middle) for log in logs) * NORMAL_MAD
    if not deviation:
        return ()
    return tuple(place for place, log in enumerate(logs) if abs(log - middle) > OUTLIER_DEVIATIONS * deviation)


NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution, divided by its median absolute deviation."""


def rank_sum_test(before: Sequence[float], after: Sequence[float]) -> float:
    """The Mann-Whitney test, two-sided: exact for few samples without ties, else by the normal approximation."""
    m, n = len(before), len(after)
    ranks, tied = _ranks([*before, *after])
    u = sum(ranks[:m]) - m * (m + 1) / 2
    if not tied and max(m, n) <= EXACT_UP_TO:
        return _two_sided_p_value(_arrangements(m, n), round(u))
    pairs = m * n
    variance = pairs / 12 * (m + n + 1 - sum(size**3 - size for size in tied) / ((m + n) * (m + n - 1)))
    return _normal_p_value(abs(u - pairs / 2), variance)


def signed_rank_test(differences: Sequence[float]) -> float:
    """The Wilcoxon signed-rank test, two-sided; pairs without a difference are left out."""
    nonzero = [difference for difference in differences if difference]
    n = len(nonzero)
    if not n:
        return 1.0
    ranks, tied = _ranks([abs(difference) for difference in nonzero])
    w = sum(rank for rank, difference in zip(ranks, nonzero, strict=True) if difference > 0)
    if not tied and n <= EXACT_UP_TO:
        return _two_sided_p_value(_subset_sums(n), round(w))
    variance = n * (n + 1) * (2 * n + 1) / 24 - sum(size**3 - size for size in tied) / 48
    return _normal_p_value(abs(w - n * (n + 1) / 4), variance)


def _medians(values: Sequence[float], resamples: Iterable[Resample]) -> list[float]:
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = (sorted(resample(values)) for resample in resamples)
    return [(sample[low] + sample[high]) / 2 for sample in ordered]


Resample = Callable[[Sequence[float]], Sequence[float]]
"""Picks the values of one resample."""


def _resamples(*lengths: int) -> Sequence[Iterable[Resample]]:
    """`RESAMPLES` circular block bootstrap samples of each series; `lengths` alternates series and block lengths."""
    return _kept_resamples(*lengths) if max(lengths) <= KEPT_UP_TO else _draw(*lengths)


@lru_cache(maxsize=8)
def _kept_resamples(*lengths: int) -> list[list[Resample]]:
    """Cached by length, so that a comparison of many sections draws them once."""
    return [list(series) for series in _draw(*lengths)]


def _draw(*lengths: int) -> list[Iterator[Resample]]:
    rng = random.Random(SEED)

    def samples(count: int, block: int) -> Iterator[Resample]:
        return (_block_sample(rng, count, block) for _ in range(RESAMPLES))

    return [samples(count, block) for count, block in zip(lengths[::2], lengths[1::2], strict=True)]


def _block_sample(rng: random.Random, count: int, block: int) -> Resample:
    starts = rng.choices(range(count), k=-(-count // block))
    indices = [(start + offset) % count for start in starts for offset in range(block)][:count]
    return itemgetter(*indices) if count > 1 else tuple


def _ranks(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """The rank of each value, starting at 1, with mean ranks for ties; and the sizes of the groups of ties."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, tied, lower = [0.0] * len(values), [], 0
    for _, group in groupby(order, key=values.__getitem__):
        places = list(group)
        for place in places:
            ranks[place] = lower + (len(places) + 1) / 2
        tied += [len(places)] if len(places) > 1 else []
        lower += len(places)
    return ranks, tied


@lru_cache(maxsize=16)
def _arrangements(m: int, n: int) -> list[int]:
    """The number of orders of m + n samples for which the Mann-Whitney statistic is 0, 1, ..., m n."""
    # The Gaussian binomial coefficient, as a polynomial: times (1 - q^(n+i)), divided by (1 - q^i).
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for place in range(m * n, n + i - 1, -1):
            ways[place] -= ways[place - n - i]
        for place in range(i, m * n + 1):
            ways[place] += ways[place - i]
    return ways


@lru_cache(maxsize=16)
def _subset_sums(n: int) -> list[int]:
    """The number of sign combinations for which the positive ranks add up to 0, 1, ..., n (n + 1) / 2."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for place in range(len(ways) - 1, rank - 1, -1):
            ways[place] += ways[place - rank]
    return ways


def _two_sided_p_value(ways: Sequence[int], statistic: int) -> float:
    return min(1.0, 2 * min(sum(ways[: statistic + 1]), sum(ways[statistic:])) / sum(ways))


def _normal_p_value(distance: float, variance: float) -> float:
    # Continuity correction: the statistic is an integer, the normal distribution is continuous.
    return min(1.0, 2 * NormalDist().cdf(-max(distance - 0.5, 0) / math.sqrt(variance))) if variance else 1.0
