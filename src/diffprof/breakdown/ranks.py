"""The rows of one rank for the table of ranks; rank 0 collects those of all processes."""

from __future__ import annotations

from collections.abc import Iterable

from diffprof.breakdown.memory_peaks import memory_table
from diffprof.breakdown.throughput import generation, throughput_table
from diffprof.record.measured import Measured, RankPart
from diffprof.record.profile import Call, Profile

COLLECTIVES = frozenset({
    "all_gather", "all_gather_into_tensor", "all_gather_tensor", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "gather", "permute_tensor", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "scatter", "send",
})  # fmt: skip
"""Names of operations that communicate with other ranks."""


def rank_parts(profile: Profile, rank: int, place: str) -> tuple[RankPart, ...]:
    """The whole call on this rank, and each component; empty if nothing was measured. `place` is the rank's device."""
    whole = generation(profile)
    if profile.measured is None or whole is None:
        return ()
    device = _device(profile.measured, place)
    peaks = {row.part: row.device_peak_bytes for row in memory_table(profile)}
    highest = max((peak for peak in peaks.values() if peak is not None), default=None)
    calls = [call for call in profile.calls if whole.macs is not None]
    rows = [RankPart(rank, device, "", 1, round(whole.median_ns), whole.macs, *_communicated_bytes(calls), highest)]
    order = list(profile.components)
    # Not sorted by time, so that all ranks have the same rows in the same order.
    for row in sorted(throughput_table(profile), key=lambda row: order.index(row.component)):
        own = [call for call in profile.calls if call.component == row.component]
        numbers = row.calls, round(row.median_ns), row.macs
        rows.append(
            RankPart(rank, device, row.component, *numbers, *_communicated_bytes(own), peaks.get(row.component))
        )
    return tuple(rows)


def _device(measured: Measured, place: str) -> str:
    return f"{measured.device.name} ({place})"


def _communicated_bytes(calls: Iterable[Call]) -> tuple[int | None, int | None]:
    """Bytes sent to and received from collectives; None if nothing was counted."""
    works = [
        operation.work if operation.name in COLLECTIVES else None
        for call in calls
        for operation in call.cost.operations
    ]
    if not works:
        return None, None
    known = [work for work in works if work is not None]
    return sum(work.read_bytes for work in known), sum(work.written_bytes for work in known)
