"""Record memory at named moments, and find problems in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from diffprof.errors import RequestError
from diffprof.runtime.timing.distributions import NANOSECONDS
from diffprof.runtime.timing.memory_snapshots import (
    Allocator,
    MemorySnapshot,
    ProcessMemory,
    TorchAllocator,
    process_memory,
)
from diffprof.runtime.timing.sections import Clock

MEBIBYTE = 1024**2
LARGE_BYTES = 256 * MEBIBYTE
"""Smaller reserves and changes of the process are ignored, because allocators take memory in large blocks."""
NOTICEABLE_BYTES = 64 * MEBIBYTE
FRAGMENTED = 1.2
FAR_ABOVE = 1.5
REPEATS_OF_A_TREND = 3


@dataclass(frozen=True)
class MemoryFinding:
    """A possible problem with memory, with its evidence in bytes."""

    kind: str
    """``fragmentation``, ``held_in_reserve``, ``unreleased_memory`` or ``grows``."""
    label: str
    """Label of the snapshot that shows it."""
    memory: str
    """``device``, or ``process`` for its resident memory."""
    evidence: dict[str, int]
    before: str | None = None
    """Label of the earlier snapshot that it is compared with."""

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


class MemoryLog:
    """Takes memory snapshots, keeps them, and finds problems in them."""

    def __init__(
        self,
        allocator: Allocator | None = None,
        process: Callable[[], ProcessMemory] = process_memory,
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        self._allocator = allocator if allocator is not None else TorchAllocator()
        self._process = process
        self._clock = clock
        self._began: int | None = None
        self.snapshots: list[MemorySnapshot] = []

    def snapshot(self, label: str) -> MemorySnapshot:
        """Record the current memory, and reset the peak of the accelerator."""
        now = self._clock()
        self._began = now if self._began is None else self._began
        device = self._allocator.read()
        if device is not None:
            self._allocator.reset_peak()
        snapshot = MemorySnapshot(label, (now - self._began) / NANOSECONDS, *self._process(), *(device or ()))
        self.snapshots.append(snapshot)
        return snapshot

    def unreleased_memory(self, before: str, after: str) -> MemoryFinding | None:
        """A finding if the last snapshot `after` has noticeably more memory than the last one `before`; else None."""
        return _growth("unreleased_memory", self._last(before), self._last(after))

    def findings(self) -> list[MemoryFinding]:
        """All findings, in the order of their snapshots.

        Two snapshots whose labels differ only in ``before`` and ``after`` are compared with each other.
        """
        found = [*_reserves(self.snapshots), *_pairs(self.snapshots), *_trends(self.snapshots)]
        places = {snapshot.label: place for place, snapshot in enumerate(self.snapshots)}
        return sorted(found, key=lambda finding: places[finding.label])

    def reset(self) -> None:
        """Delete all snapshots."""
        self.snapshots.clear()
        self._began = None

    def to_dict(self) -> dict[str, Any]:
        """Snapshots and findings as plain values, ready for JSON."""
        return {
            "unit": "bytes",
            "snapshots": [snapshot.to_dict() for snapshot in self.snapshots],
            "findings": [finding.to_dict() for finding in self.findings()],
        }

    def _last(self, label: str) -> MemorySnapshot:
        for snapshot in reversed(self.snapshots):
            if snapshot.label == label:
                return snapshot
        raise RequestError(f"There is no memory snapshot {label!r}.")


def _reserves(snapshots: Sequence[MemorySnapshot]) -> Iterator[MemoryFinding]:
    """Findings about the largest reserve that was never needed, and the largest that is no longer needed."""
    fragmented: list[MemoryFinding] = []
    held: list[MemoryFinding] = []
    needed = 0
    for snapshot in snapshots:
        allocated, reserved = snapshot.allocated_bytes, snapshot.reserved_bytes
        if allocated is None or reserved is None:
            continue
        needed = max(needed, allocated, snapshot.max_allocated_bytes or 0)
        # An allocator keeps what it once needed; only memory beyond that is fragmented.
        if reserved - needed >= LARGE_BYTES and reserved >= FRAGMENTED * needed:
            evidence = {"reserved_bytes": reserved, "most_allocated_bytes": needed, "excess_bytes": reserved - needed}
            fragmented.append(MemoryFinding("fragmentation", snapshot.label, "device", evidence))
        elif reserved - allocated >= LARGE_BYTES and reserved >= FAR_ABOVE * allocated:
            evidence = {"reserved_bytes": reserved, "allocated_bytes": allocated, "excess_bytes": reserved - allocated}
            held.append(MemoryFinding("held_in_reserve", snapshot.label, "device", evidence))
    for found in (fragmented, held):
        if found:
            yield max(found, key=lambda finding: finding.evidence["excess_bytes"])


def _pairs(snapshots: Sequence[MemorySnapshot]) -> Iterator[MemoryFinding]:
    """A finding for each ``after`` with noticeably more memory than the last ``before`` of the same name."""
    starts: dict[str, MemorySnapshot] = {}
    for snapshot in snapshots:
        if "before" in snapshot.label:
            starts[snapshot.label.replace("before", "after")] = snapshot
        elif snapshot.label in starts:
            found = _growth("unreleased_memory", starts.pop(snapshot.label), snapshot)
            if found is not None:
                yield found


def _trends(snapshots: Sequence[MemorySnapshot]) -> Iterator[MemoryFinding]:
    """A finding for each label whose memory grew every time."""
    for label in dict.fromkeys(snapshot.label for snapshot in snapshots):
        same = [snapshot for snapshot in snapshots if snapshot.label == label]
        found = _growth("grows", same[0], same[-1])
        if found is None or len(same) < REPEATS_OF_A_TREND:
            continue
        held = [
            (snapshot.allocated_bytes if found.memory == "device" else snapshot.rss_bytes) or 0 for snapshot in same
        ]
        if all(later > earlier for earlier, later in pairwise(held)):
            yield found


def _growth(kind: str, before: MemorySnapshot, after: MemorySnapshot) -> MemoryFinding | None:
    """A finding about growth between two snapshots: of the accelerator if both have it, else of the process."""
    if before.allocated_bytes is not None and after.allocated_bytes is not None:
        memory, enough, first, last = "device", NOTICEABLE_BYTES, before.allocated_bytes, after.allocated_bytes
    else:
        memory, enough, first, last = "process", LARGE_BYTES, before.rss_bytes, after.rss_bytes
    if last - first < enough:
        return None
    evidence = {"before_bytes": first, "after_bytes": last, "growth_bytes": last - first}
    return MemoryFinding(kind, after.label, memory, evidence, before=before.label)
