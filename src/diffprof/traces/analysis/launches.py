"""Match work with the runtime calls that launched it, and measure how far the host was ahead."""

from __future__ import annotations

import re

import numpy as np

from diffprof.traces.facts import LaunchStatistics
from diffprof.traces.reading.columns import MEMCPY, RUNTIME, UNKNOWN, Flags, GpuEvents, Ints, RecordedTrace

# Calls that return only after the device has finished something.
_WAITS = re.compile(
    r"Synchronize|MemcpyWithStream|^(cuda|hip)(Memcpy|Memset)(2D|3D)?(_v\d+|_ptsz)?$|^cuMemcpy(?!.*Async)"
    r"|^(ur|pi)(QueueFinish|Events?Wait)$"  # of Intel's runtime
)
_ASYNC_COPY = re.compile(r"Memcpy.*Async")
_LAUNCHES = re.compile(r"Launch|Memcpy|Memset")
GRAPH_LAUNCH = re.compile(r"GraphLaunch")


class Launches:
    """The launching call of each row of `trace.gpu`, and the calls in which the host waited for a device."""

    def __init__(self, trace: RecordedTrace) -> None:
        host = trace.host
        self.rows = np.flatnonzero(host.kind == RUNTIME)
        names = host.name[self.rows]
        self.call = _launching_calls(trace.gpu, self.rows, host.correlation)
        """The row of `trace.host` that launched each row of `trace.gpu`; `UNKNOWN` if it was not recorded."""
        by_name = self.rows[_matches(trace.names, names, _LAUNCHES)]
        self.launching = np.union1d(by_name, self.call[self.call != UNKNOWN])
        """The rows of `trace.host` that launched work."""
        waits = _matches(trace.names, names, _WAITS) | self._blocking_copies(trace, names)
        self.waits = self.rows[waits]
        """The rows of `trace.host` in which the host waited for a device."""

    def _blocking_copies(self, trace: RecordedTrace, names: Ints) -> Flags:
        """Copies by an asynchronous call that blocks nevertheless, as it does for pageable memory."""
        pageable = np.array(["Pageable" in name for name in trace.names], dtype=bool)
        gpu = trace.gpu
        copies = np.flatnonzero((gpu.kind == MEMCPY) & (self.call != UNKNOWN) & pageable[gpu.name])
        blocking = copies[trace.host.end[self.call[copies]] >= gpu.end[copies]]
        return _matches(trace.names, names, _ASYNC_COPY) & np.isin(self.rows, self.call[blocking])


def launch_statistics(trace: RecordedTrace, launches: Launches) -> LaunchStatistics | None:
    """How far the host was ahead of the devices; None if launches were not recorded."""
    known = np.flatnonzero(launches.call != UNKNOWN)
    if not len(known):
        return None
    gpu, host = trace.gpu, trace.host
    calls = launches.call[known]
    # Clamped at 0: nothing begins before its launch, but the clocks of host and device can differ.
    latency = np.maximum(gpu.start[known] - host.start[calls], 0)
    devices = np.unique(gpu.device[known])
    queue = np.concatenate([_queue_lengths(trace, known[gpu.device[known] == device], launches) for device in devices])
    graphs = _matches(trace.names, host.name[calls], GRAPH_LAUNCH)
    launching = np.unique(calls)
    return LaunchStatistics(
        launched=len(known),
        calls=len(launching),
        call_median_ns=_median(host.end[launching] - host.start[launching]),
        latency_median_ns=_median(latency),
        latency_p95_ns=int(np.percentile(latency, 95)),
        latency_longest_ns=int(latency.max()),
        queue_median=_median(queue),
        queue_longest=int(queue.max()),
        on_empty_queue=int((queue == 0).sum()),
        graph_launches=len(np.unique(calls[graphs])),
        graph_kernels=int(graphs.sum()),
    )


def _queue_lengths(trace: RecordedTrace, rows: Ints, launches: Launches) -> Ints:
    """The number of unfinished launches of one device at each launch."""
    launched = np.sort(trace.host.start[launches.call[rows]])
    finished = np.sort(trace.gpu.end[rows])
    return np.maximum(np.arange(len(rows)) - np.searchsorted(finished, launched, side="right"), 0)


def _median(values: Ints) -> int:
    return int(np.median(values))


def _launching_calls(gpu: GpuEvents, rows: Ints, correlation: Ints) -> Ints:
    known = rows[correlation[rows] > 0]
    numbers, first = np.unique(correlation[known], return_index=True)
    if not len(numbers):
        return np.full(len(gpu), UNKNOWN, dtype=np.int64)
    place = np.minimum(np.searchsorted(numbers, gpu.correlation), len(numbers) - 1)
    return np.where(numbers[place] == gpu.correlation, known[first[place]], UNKNOWN)


def _matches(all_names: list[str], names: Ints, pattern: re.Pattern[str]) -> Flags:
    """Which of the names match; each distinct name is tested once."""
    flags = np.zeros(len(all_names), dtype=bool)
    for number in np.unique(names):
        flags[number] = bool(pattern.search(all_names[number]))
    return flags[names]
