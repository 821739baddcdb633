"""What can be said about two series of times that were measured on a machine with other things to do.

Such times are skewed, have outliers, and neighbours resemble each other. So medians are compared, the interval of their
ratio is a bootstrap over runs of neighbours, and a rank test has to agree before anything is called a difference.
Times that were taken in turns are compared pair by pair: what the machine did meanwhile is in both of a pair.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist, median

CONFIDENCE = 0.99
"""Of the rank test, which has to agree with the interval: equal code is called slower in less than 1 of 200."""

INTERVALS = {False: 0.99, True: 0.95}
"""Of the interval, by whether there are pairs. Without them the interval also has to make up for what others did on the
machine meanwhile, which the rank test takes for a difference; in a pair that is in both."""

RESAMPLES = 2000
SEED = 20
"""The same figures give the same interval."""

FAR = 3.5
"""Outliers: so many robust standard deviations away from the median, after Iglewicz and Hoaglin."""

EXACT_UP_TO = 50
"""Samples of one side up to which a rank test counts all arrangements; with more, the normal curve is as good."""


@dataclass(frozen=True)
class Ratio:
    """How many times as long, at best and at worst."""

    ratio: float
    """Of the medians; of times taken in turns, the median of the pairs' ratios."""
    low: float
    high: float
    p_value: float
    """Of the rank test: how often equal code would look at least as different."""


def compared(before: Sequence[int], after: Sequence[int], paired: bool) -> Ratio:
    """The ratio of `after` to `before`, of positive times; `paired` where the times with equal numbers are pairs."""
    generator = random.Random(SEED)
    if paired:
        ratios = [later / earlier for earlier, later in zip(before, after, strict=True)]
        drawn = sorted(_medians(ratios, 1, generator))
        middle, p_value = median(ratios), signed_rank_test([math.log(ratio) for ratio in ratios])
    else:
        # A run of as many neighbours as are alike is drawn together; the cube root is the usual length.
        earlier = _medians(before, round(len(before) ** (1 / 3)), generator)
        later = _medians(after, round(len(after) ** (1 / 3)), generator)
        drawn = sorted(one / other for one, other in zip(later, earlier, strict=True))
        middle, p_value = median(after) / median(before), rank_sum_test(before, after)
    cut = round((1 - INTERVALS[paired]) / 2 * RESAMPLES)
    return Ratio(middle, min(drawn[cut], middle), max(drawn[-1 - cut], middle), p_value)


def enough(before: int, after: int, paired: bool) -> bool:
    """Whether so many samples can show a difference at all: the most different that they can be must be rare enough."""
    rarest = 0.5 ** (before - 1) if paired else 2 / math.comb(before + after, before)
    return rarest <= 1 - CONFIDENCE


def outliers(times: Sequence[int]) -> tuple[int, ...]:
    """The places of times that are far from all others; by their logarithms, as times are skewed."""
    logs = [math.log(time) for time in times]
    middle = median(logs)
    deviation = median(abs(one - middle) for one in logs) * NORMAL_MAD
    if not deviation:
        return ()
    return tuple(place for place, one in enumerate(logs) if abs(one - middle) > FAR * deviation)


NORMAL_MAD = 1.4826
"""Standard deviations of a normal curve in one median absolute deviation."""


def rank_sum_test(before: Sequence[float], after: Sequence[float]) -> float:
    """Mann and Whitney's test, two-sided: counted exactly for few samples without ties, else by the normal curve."""
    m, n = len(before), len(after)
    ranks, tied = _ranks([*before, *after])
    u = sum(ranks[:m]) - m * (m + 1) / 2
    if not tied and max(m, n) <= EXACT_UP_TO:
        return _two_sided(_arrangements(m, n), round(u))
    pairs = m * n
    variance = pairs / 12 * (m + n + 1 - sum(size**3 - size for size in tied) / ((m + n) * (m + n - 1)))
    return _normal(abs(u - pairs / 2), variance)


def signed_rank_test(differences: Sequence[float]) -> float:
    """Wilcoxon's test of pairs, two-sided; pairs without a difference say nothing and are left out."""
    told = [one for one in differences if one]
    n = len(told)
    if not n:
        return 1.0
    ranks, tied = _ranks([abs(one) for one in told])
    w = sum(rank for rank, one in zip(ranks, told, strict=True) if one > 0)
    if not tied and n <= EXACT_UP_TO:
        return _two_sided(_subset_sums(n), round(w))
    variance = n * (n + 1) * (2 * n + 1) / 24 - sum(size**3 - size for size in tied) / 48
    return _normal(abs(w - n * (n + 1) / 4), variance)


def _medians(values: Sequence[float], neighbours: int, generator: random.Random) -> list[float]:
    """Of as many samples as there are values, drawn with repetition in runs of neighbours; the last meets the first."""
    count, ring = len(values), [*values, *values[: neighbours - 1]]
    runs = [ring[start : start + neighbours] for start in range(count)]
    drawn = -(-count // neighbours)
    low, high = (count - 1) // 2, count // 2
    medians = []
    for _ in range(RESAMPLES):
        sample = sorted([value for run in generator.choices(runs, k=drawn) for value in run][:count])
        medians.append((sample[low] + sample[high]) / 2)
    return medians


def _ranks(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """The rank of each value from 1 on, equal ones sharing theirs; and the sizes of the groups of equal ones."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, tied, passed = [0.0] * len(values), [], 0
    for _, group in groupby(order, key=values.__getitem__):
        places = list(group)
        for place in places:
            ranks[place] = passed + (len(places) + 1) / 2
        tied += [len(places)] if len(places) > 1 else []
        passed += len(places)
    return ranks, tied


def _arrangements(m: int, n: int) -> list[int]:
    """In how many orders of m + n samples Mann and Whitney's statistic is 0, 1, ..., m n."""
    # The Gaussian binomial coefficient, as a polynomial: times (1 - q^(n+i)), divided by (1 - q^i).
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for place in range(m * n, n + i - 1, -1):
            ways[place] -= ways[place - n - i]
        for place in range(i, m * n + 1):
            ways[place] += ways[place - i]
    return ways


def _subset_sums(n: int) -> list[int]:
    """In how many ways signs of the ranks 1 to n make the positive ones add up to 0, 1, ..., n (n + 1) / 2."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for place in range(len(ways) - 1, rank - 1, -1):
            ways[place] += ways[place - rank]
    return ways


def _two_sided(ways: Sequence[int], found: int) -> float:
    return min(1.0, 2 * min(sum(ways[: found + 1]), sum(ways[found:])) / sum(ways))


def _normal(distance: float, variance: float) -> float:
    # Half a step nearer: the statistic is a whole number, the curve is not.
    return min(1.0, 2 * NormalDist().cdf(-max(distance - 0.5, 0) / math.sqrt(variance))) if variance else 1.0
