"""The dtypes that products are computed in: which share of the MACs each has, and what a device can do with the mix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from diffprof.record.profile import Call

KNOWN_SHARE = 0.99
"""Of the MACs, what must be in dtypes whose peak is known: position tables in float32 are too few to matter."""


def macs_by_dtype(calls: Iterable[Call]) -> dict[str, int]:
    """MACs by the dtype of their operations, the most first."""
    found: Counter[str] = Counter()
    costs = {}
    times: Counter[int] = Counter()
    for call in calls:
        costs[id(call.cost)] = call.cost
        times[id(call.cost)] += 1
    for number, cost in costs.items():
        for operation in cost.operations:
            if operation.work.macs:
                found[operation.dtype] += operation.work.macs * times[number]
    return dict(found.most_common())


def mixed_peak(macs: Mapping[str, int], peaks: Mapping[str, float]) -> float | None:
    """The most FLOP/s that a device can do with such a mix; None where too much of it is in dtypes that it is not
    known for.

    Each dtype takes the time that its FLOPs take at its own peak, so the peaks are averaged over time.
    """
    known = {dtype: amount for dtype, amount in macs.items() if peaks.get(dtype)}
    if not known or sum(known.values()) < KNOWN_SHARE * sum(macs.values()):
        return None
    return sum(known.values()) / sum(amount / peaks[dtype] for dtype, amount in known.items())
