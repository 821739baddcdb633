"""Explain a trace: run all analyses on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from diffprof.traces.analysis import work
from diffprof.traces.analysis.attention import attention_use
from diffprof.traces.analysis.host import HostTree
from diffprof.traces.analysis.idle import idle_time
from diffprof.traces.analysis.intervals import Intervals
from diffprof.traces.analysis.launches import Launches, launch_statistics
from diffprof.traces.analysis.memory_over_time import memory_use
from diffprof.traces.analysis.sections import Sections
from diffprof.traces.analysis.timeline import DeviceWork, activity, copies, device_work, timeline
from diffprof.traces.facts import GAP_THRESHOLD_NS, TraceExplanation, TraceSource
from diffprof.traces.reading.columns import PYTHON, RUNTIME, UNKNOWN, RecordedTrace
from diffprof.traces.reading.reader import read_trace

_RANK_IN_NAME = re.compile(r"rank[-_]?(\d+)", re.I)


def explain_trace(path: str | Path, threshold_ns: int = GAP_THRESHOLD_NS) -> TraceExplanation:
    """Read a trace and explain it."""
    return explain(read_trace(path), threshold_ns)


def explain(trace: RecordedTrace, threshold_ns: int = GAP_THRESHOLD_NS) -> TraceExplanation:
    """Run all analyses on a trace."""
    tree, launches = HostTree(trace), Launches(trace)
    devices = device_work(trace)
    idle = [idle_time(trace, device, tree, launches, threshold_ns) for device in devices]
    attention = attention_use(trace, tree, launches)
    sections = Sections(trace, tree, launches)
    kernels = work.kernels(trace, attention.is_attention)
    return TraceExplanation(
        source=_source(trace, launches),
        threshold_ns=threshold_ns,
        timelines=tuple(timeline(trace, device, tree, launches) for device in devices),
        activity=tuple(activity(trace, device) for device in devices),
        copies=copies(trace, devices),
        causes=tuple(sorted((row for device in idle for row in device.causes), key=lambda row: -row.idle_ns)),
        gaps=tuple(gap for device in idle for gap in device.gaps),
        kinds=work.kinds(kernels),
        kernels=kernels,
        attention=attention.rows,
        sections=sections.rows(),
        steps=sections.steps(),
        scheduler=sections.scheduler(_idle_intervals(devices)),
        launches=launch_statistics(trace, launches),
        compiled=sections.compiled_regions(),
        memory=memory_use(trace),
        host_ops=work.host_ops(trace, tree),
        collectives=work.collectives(trace),
    )


def _idle_intervals(devices: list[DeviceWork]) -> Intervals:
    """When the first device was idle."""
    return devices[0].busy.gaps() if devices else Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def _source(trace: RecordedTrace, launches: Launches) -> TraceSource:
    metadata = trace.metadata
    first, last = trace.start_and_end()
    base = metadata.get("baseTimeNanoseconds")
    ranks = metadata.get("distributedInfo")
    ranks = ranks if isinstance(ranks, dict) else {}
    rank = _as_int(ranks.get("rank"))
    if rank is None and (found := _RANK_IN_NAME.search(Path(trace.path).name)):
        rank = int(found[1])
    return TraceSource(
        path=trace.path,
        events=trace.events,
        platform=_platform(trace),
        device_names=_device_names(trace),
        rank=rank,
        world_size=_as_int(ranks.get("world_size")),
        recorded_ns=last - first,
        origin_ns=first,
        clock_ns=first + base if type(base) is int else None,
        has_stacks=bool((trace.host.kind == PYTHON).any()),
        has_shapes=bool((trace.host.shapes != UNKNOWN).any()) or metadata.get("record_shapes") == 1,
        has_launches=bool((launches.call != UNKNOWN).any()),
        negative_durations=trace.negative_durations,
        invalid_bytes=trace.invalid_bytes,
    )


def _platform(trace: RecordedTrace) -> str:
    if not len(trace.gpu):
        return "cpu"
    for platform, words in (("rocm", ("roc", "hip")), ("cuda", ("cuda", "cupti")), ("xpu", ("xpu",))):
        if any(key.startswith(words) for key in trace.metadata):
            return platform
    calls = [trace.names[number] for number in np.unique(trace.host.name[trace.host.kind == RUNTIME])[:10_000]]
    return next((platform for platform, begin in _CALLS.items() if any(map(begin.match, calls))), "gpu")


_CALLS = {
    "rocm": re.compile("hip[A-Z]"),
    "cuda": re.compile("cuda[A-Z]|cu[A-Z]"),
    "xpu": re.compile("(ur|pi)(Enqueue|Queue|Event)|ze[A-Z]"),
}
"""Prefixes of the runtime calls of each platform."""


def _device_names(trace: RecordedTrace) -> tuple[str, ...]:
    """The names of the devices; a trace may number them differently from the order of its list."""
    listed: Any = trace.metadata.get("deviceProperties")
    if not isinstance(listed, list) or not len(trace.gpu):
        return ()
    names = [str(entry["name"]) for entry in listed if isinstance(entry, dict) and "name" in entry]
    return tuple(dict.fromkeys(names))


def _as_int(value: Any) -> int | None:
    return value if type(value) is int else None
