"""Collect the times of named operations from any thread, and compute their statistics."""

from __future__ import annotations

import difflib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from diffprof.errors import RequestError
from diffprof.runtime.timing.distributions import NANOSECONDS, Distribution, summary_of

WAITING_SAMPLES = 512
"""How many samples a series collects before it processes them, which is faster than one by one."""
MAX_NAMES = 10_000
FURTHER_NAMES = "(further names)"
"""The name that replaces all new names once there are `MAX_NAMES`."""
LONGEST_SECONDS = 9_000_000_000


class Timings:
    """Times by name; a name may be a path (``generate/vae_decode``).

    Thread-safe. Memory is bounded by `MAX_NAMES` names and by the number of samples that each keeps.
    """

    def __init__(self) -> None:
        # Reentrant, because a finalizer or a signal handler of this thread may record something while it is held.
        self._lock = threading.RLock()
        self._series: dict[str, SectionSeries] = {}
        self.root = SectionSeries(self, "")
        """The parent of outermost sections."""
        self._before_reading: list[Callable[[], None]] = []

    def record(self, name: str, seconds: float) -> None:
        """Add a time that was measured elsewhere; it is rounded to nanoseconds."""
        if not (0 <= seconds <= LONGEST_SECONDS):  # also refuses what is not a number
            raise RequestError(f"{name!r} cannot have taken {seconds!r} seconds; give a time of 0 seconds or more.")
        self.series(name).add(round(seconds * NANOSECONDS))

    def get_stats(self, name: str) -> dict[str, Any]:
        """Count, total, mean, min, max, median, std, p95 (in seconds) and errors of one operation.

        A name without slashes means all paths that end in it, unless something was recorded under the name itself. If a
        device was used, ``device`` has the same statistics of device times.
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
        """All statistics as plain values, ready for JSON."""
        return {"unit": "seconds", "operations": self.get_all_stats()}

    def reset(self) -> None:
        """Delete all times. Sections that are still open are recorded when they end."""
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
                path = path if len(self._series) < MAX_NAMES else FURTHER_NAMES
                found = self._series.setdefault(path, SectionSeries(self, path))
            return found

    def child(self, parent: SectionSeries, name: str) -> SectionSeries:
        """The series that collects the times of the section `name` inside `parent`."""
        path = f"{parent.path}/{name}" if parent.path else name
        with self._lock:
            found = self.series(path)
            # Not stored, because there are too many names, or the parent was reset.
            if found.path == path and not parent.retired:
                parent.children[name] = found
            return found

    def call_before_reading(self, action: Callable[[], None]) -> None:
        """Call `action` before statistics are read, so that it can add pending times."""
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
        """Whether it was reset; sections that were open at that time still add their times to it."""
        self.samples: deque[int] = deque()
        """Samples in nanoseconds that are not processed yet."""
        self.limit = WAITING_SAMPLES
        self.children: dict[str, SectionSeries] = {}
        """The series of nested sections, by the last part of their path, so that no path has to be joined."""
        self.host = Distribution()
        self.device = Distribution()
        self.unresolved = 0
        """The number of unknown device times."""
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
        """Add a device time, or None if it is unknown."""
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
        """Process the collected samples. Without `wait`, they are left for later if another thread has the lock."""
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
        """Delete all samples; sections that are still open add theirs to the series that replaces this one."""
        self.retired = True
        self.limit = 0
        self.samples.clear()
        self.children = {}

    def _take(self) -> list[int]:
        # One by one, because each pop is atomic: other threads append meanwhile, and no sample may be lost or repeated.
        return [self.samples.popleft() for _ in range(len(self.samples))]

    def _successor(self) -> SectionSeries:
        return self._timings.series(self.path)


def stats_of(series: Iterable[SectionSeries]) -> dict[str, Any]:
    """The combined statistics of several series."""
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
    """The longer of host and device time, because launching work on a device returns at once."""
    device = stats.get("device", {"total": 0.0})
    return max(float(stats["total"]), float(device["total"]))
