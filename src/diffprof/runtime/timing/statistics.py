"""The times of named operations, collected from any thread and read as statistics."""

from __future__ import annotations

import difflib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from diffprof.errors import RequestError
from diffprof.runtime.timing.distributions import NANOSECONDS, Distribution, summary_of

WAITING_SAMPLES = 512
"""Number of samples that a series collects before it adds them up, which is cheaper than one by one."""
MOST_NAMES = 10_000
FURTHER_NAMES = "(further names)"
"""The name for everything under a new name, once there are `MOST_NAMES`."""
LONGEST_SECONDS = 9_000_000_000


class Timings:
    """Times by name, where a name may be a path (``generate/vae_decode``).

    Safe to use from several threads. Memory is bounded: by `MOST_NAMES` names and by the samples that each keeps.
    """

    def __init__(self) -> None:
        # Reentrant: a finalizer or a signal handler that records something may run while this thread holds it.
        self._lock = threading.RLock()
        self._series: dict[str, SectionSeries] = {}
        self.root = SectionSeries(self, "")
        """The parent of sections that are inside no other."""
        self._before_reading: list[Callable[[], None]] = []

    def record(self, name: str, seconds: float) -> None:
        """Add a time that was measured elsewhere; it is kept in whole nanoseconds."""
        if not (0 <= seconds <= LONGEST_SECONDS):  # also refuses what is not a number
            raise RequestError(f"{name!r} cannot have taken {seconds!r} seconds; give a time of 0 seconds or more.")
        self.series(name).add(round(seconds * NANOSECONDS))

    def get_stats(self, name: str) -> dict[str, Any]:
        """Count, total, mean, min, max, median, std, p95 (in seconds) and errors of one operation.

        A bare name stands for all paths that end in it, together, unless something was recorded under the name itself.
        Where a device was used, ``device`` has the same statistics of the time that its work took there.
        """
        self._prepare()
        with self._lock:
            found = self._series_of(name)
            if not found:
                raise RequestError(self._missing_name_message(name))
            return stats_of(found)

    def get_all_stats(self) -> dict[str, dict[str, Any]]:
        """The statistics of every path, the longest total first."""
        self._prepare()
        with self._lock:
            found = {path: stats_of([series]) for path, series in self._series.items() if series.host.count}
        return dict(sorted(found.items(), key=lambda entry: longest_total(entry[1]), reverse=True))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {"unit": "seconds", "operations": self.get_all_stats()}

    def reset(self) -> None:
        """Delete everything. A section that is still open is counted when it ends."""
        self._prepare()
        with self._lock:
            for series in self._series.values():
                series.retire()
            self._series.clear()
            self.root.children = {}

    def series(self, path: str) -> SectionSeries:
        """The series that collects the times of a path."""
        with self._lock:
            found = self._series.get(path)
            if found is None:
                path = path if len(self._series) < MOST_NAMES else FURTHER_NAMES
                found = self._series.setdefault(path, SectionSeries(self, path))
            return found

    def child(self, parent: SectionSeries, name: str) -> SectionSeries:
        """The series that collects the times of the section `name` inside `parent`."""
        path = f"{parent.path}/{name}" if parent.path else name
        with self._lock:
            found = self.series(path)
            # Not kept: one of too many names, and a child of a parent that `reset` no longer reaches.
            if found.path == path and not parent.retired:
                parent.children[name] = found
            return found

    def call_before_reading(self, action: Callable[[], None]) -> None:
        """Call `action`, which brings in what is still in progress, whenever the statistics are read."""
        self._before_reading.append(action)

    def _prepare(self) -> None:
        for action in self._before_reading:
            action()
        for series in list(self._series.values()):
            series.fold(wait=True)

    def _series_of(self, name: str) -> list[SectionSeries]:
        recorded = {path: series for path, series in self._series.items() if series.host.count}
        if name in recorded:
            return [recorded[name]]
        return [series for path, series in recorded.items() if path.endswith(f"/{name}")]

    def _missing_name_message(self, name: str) -> str:
        known = {part for path in self._series for part in (path, path.rpartition("/")[2])}
        near = difflib.get_close_matches(name, sorted(known - {name}), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else "" if known else " Nothing has been recorded yet."
        return f"No time was recorded under {name!r}.{hint}"


class SectionSeries:
    """The times of one path. `samples` may be appended to from any thread, without a lock."""

    __slots__ = (
        "_timings", "children", "device", "errors", "host", "limit", "path", "retired", "samples", "unresolved",
    )  # fmt: skip

    def __init__(self, timings: Timings, path: str) -> None:
        self._timings = timings
        self.path = path
        self.retired = False
        """Whether it was reset; sections that were open then still add their times to it."""
        self.samples: deque[int] = deque()
        """Nanoseconds that are not added up yet."""
        self.limit = WAITING_SAMPLES
        self.children: dict[str, SectionSeries] = {}
        """The series of sections inside it, by the last part of their path: found without joining a path."""
        self.host = Distribution()
        self.device = Distribution()
        self.unresolved = 0
        """How often the device time could not be determined."""
        self.errors = 0

    def add(self, nanoseconds: int) -> None:
        self.samples.append(nanoseconds)
        if len(self.samples) >= self.limit:
            self.fold()

    def add_error(self) -> None:
        with self._timings._lock:
            retired = self.retired
            self.errors += not retired
        if retired:
            self._successor().add_error()

    def add_device(self, nanoseconds: int | None) -> None:
        """Add a time on the device, or None where it could not be determined."""
        with self._timings._lock:
            retired = self.retired
            if retired:
                pass
            elif nanoseconds is None:
                self.unresolved += 1
            else:
                self.device.add([nanoseconds])
        if retired:
            self._successor().add_device(nanoseconds)

    def fold(self, wait: bool = False) -> None:
        """Add up the collected samples. Without `wait`, they stay for the next time if another thread has the lock."""
        if not self._timings._lock.acquire(blocking=wait):
            return
        try:
            retired = self.retired
            taken = self._take()
            if not retired:
                self.host.add(taken)
        finally:
            self._timings._lock.release()
        if retired and taken:
            successor = self._successor()
            successor.samples.extend(taken)
            successor.fold(wait)

    def retire(self) -> None:
        """Delete what was collected; sections that are still open add to the series that replaces it."""
        self.retired = True
        self.limit = 0
        self.samples.clear()
        self.children = {}

    def _take(self) -> list[int]:
        # One by one, each atomic: other threads append at the same time, and no sample may be lost or come twice.
        return [self.samples.popleft() for _ in range(len(self.samples))]

    def _successor(self) -> SectionSeries:
        return self._timings.series(self.path)


def stats_of(series: Iterable[SectionSeries]) -> dict[str, Any]:
    """The statistics of several series together."""
    found = list(series)
    device = [each.device for each in found if each.device.count]
    stats: dict[str, Any] = {
        **summary_of(each.host for each in found).to_dict(),
        "errors": sum(each.errors for each in found),
    }
    if device:
        stats["device"] = summary_of(device).to_dict()
    unresolved = sum(each.unresolved for each in found)
    if unresolved:
        stats["device_unresolved"] = unresolved
    return stats


def longest_total(stats: dict[str, Any]) -> float:
    """The longer of host time and device time: work on a device returns to the host at once."""
    device = stats.get("device", {"total": 0.0})
    return max(float(stats["total"]), float(device["total"]))
