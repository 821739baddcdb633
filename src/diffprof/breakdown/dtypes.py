"""The dtypes in which MACs are computed, and the peak of a device for a mix of dtypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from diffprof.record.profile import Call

KNOWN_SHARE = 0.99
"""The share of MACs whose dtypes must have a known peak: the rest, such as position tables, is negligible."""


def macs_by_dtype(calls: Iterable[Call]) -> dict[str, int]:
    """MACs by the dtype of their operations, the largest first."""
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
    """The peak FLOP/s of a device for a mix of dtypes; None if too many MACs are in dtypes without a known peak.

    The harmonic mean of the peaks: each dtype takes the time that its FLOPs take at its own peak.
    """
    known = {dtype: amount for dtype, amount in macs.items() if peaks.get(dtype)}
    if not known or sum(known.values()) < KNOWN_SHARE * sum(macs.values()):
        return None
    return sum(known.values()) / sum(amount / peaks[dtype] for dtype, amount in known.items())
