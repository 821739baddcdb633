"""How a device spent its time: computation, communication, copies or idle."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree
from diffprof.traces.analysis.intervals import Intervals, covered_lengths, union
from diffprof.traces.analysis.kernels import kernel_kind
from diffprof.traces.analysis.launches import Launches
from diffprof.traces.facts import Copies, DeviceActivity, Timeline
from diffprof.traces.reading.columns import KERNEL, MEMCPY, UNKNOWN, Flags, Ints, RecordedTrace

# Enough for a chart as wide as a page.
PARTS = 240

_DIRECTIONS = re.compile(r"([HDP])to([HDP])|CopyHostTo(Device)|CopyDeviceTo(Host)", re.I)


@dataclass(frozen=True)
class DeviceWork:
    """The rows of `trace.gpu` of one device, and its intervals of computation, communication and copies."""

    device: int
    rows: Ints
    computation: Intervals
    communication: Intervals
    copies: Intervals
    busy: Intervals

    @property
    def start(self) -> int:
        return int(self.busy.start[0])

    @property
    def end(self) -> int:
        return int(self.busy.end[-1])

    @property
    def exposed_communication(self) -> Intervals:
        return self.communication.minus(self.computation)

    @property
    def exposed_copies(self) -> Intervals:
        return self.copies.minus(self.computation).minus(self.communication)


def device_work(trace: RecordedTrace) -> list[DeviceWork]:
    """The work of each device that did any."""
    works = []
    communication = is_communication(trace)
    for device in np.unique(trace.gpu.device):
        rows = np.flatnonzero(trace.gpu.device == device)
        copies = trace.gpu.kind[rows] == MEMCPY
        communicates = communication[rows]
        parts = [_union(trace, rows[chosen]) for chosen in (~copies & ~communicates, communicates, copies, slice(None))]
        if len(parts[-1]):
            works.append(DeviceWork(int(device), rows, *parts))
    return works


def timeline(trace: RecordedTrace, work: DeviceWork, tree: HostTree, launches: Launches) -> Timeline:
    """The times of one device."""
    gpu = trace.gpu
    first, last = trace.start_and_end()
    return Timeline(
        device=work.device,
        total_ns=work.end - work.start,
        computation_ns=work.computation.length,
        communication_ns=work.communication.length,
        exposed_communication_ns=work.exposed_communication.length,
        copy_ns=work.copies.length,
        exposed_copy_ns=work.exposed_copies.length,
        busy_ns=work.busy.length,
        kernels=int((gpu.kind[work.rows] == KERNEL).sum()),
        streams=len(np.unique(gpu.stream[work.rows])),
        before_ns=work.start - first,
        before_what=_host_activity(work.rows[0], first, work.start, trace, tree, launches),
        after_ns=last - work.end,
        after_what=_host_activity(work.rows[-1], work.end, last, trace, tree, launches),
    )


def activity(trace: RecordedTrace, work: DeviceWork) -> DeviceActivity:
    """The timeline in equal parts, which add up to it to the nanosecond."""
    total = work.end - work.start
    count = min(PARTS, total)
    edges = work.start + np.arange(count + 1, dtype=np.int64) * total // count
    start, end = edges[:-1], edges[1:]
    sets = (work.computation, work.exposed_communication, work.exposed_copies)
    columns = [
        start - trace.start_and_end()[0],
        end - start,
        *(covered_lengths(intervals, start, end) for intervals in sets),
    ]
    return DeviceActivity(work.device, tuple(zip(*(column.tolist() for column in columns), strict=True)))


def copies(trace: RecordedTrace, works: list[DeviceWork]) -> tuple[Copies, ...]:
    """The copies by direction and memory, the longest first."""
    gpu = trace.gpu
    kinds = {int(name): copy_kind(trace.names[name]) for name in np.unique(gpu.name[gpu.kind == MEMCPY])}
    rows_by_kind = []
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name, its_kind in kinds.items() if its_kind == kind]
        rows = np.flatnonzero((gpu.kind == MEMCPY) & np.isin(gpu.name, names))
        sizes = gpu.size_bytes[rows]
        known = bool((sizes != UNKNOWN).all())
        rows_by_kind.append(
            Copies(
                *kind,
                count=len(rows),
                size_bytes=int(sizes.sum()) if known else None,
                duration_ns=int((gpu.end[rows] - gpu.start[rows]).sum()),
                exposed_ns=sum(_exposed_length(trace, rows, work) for work in works),
            )
        )
    return tuple(sorted(rows_by_kind, key=lambda row: -row.duration_ns))


def copy_kind(name: str) -> tuple[str, str]:
    """Direction and memory of a copy: ``Memcpy HtoD (Pageable -> Device)`` is H2D of pageable memory."""
    match = _DIRECTIONS.search(name)
    if not match:
        return "other", ""
    ends = (match[1] + match[2]).upper() if match[1] else "HD" if match[3] else "DH"
    memory = next((word for word in ("pinned", "pageable", "managed") if word in name.lower()), "")
    return f"{ends[0]}2{ends[1]}", memory if "H" in ends else "device"


def is_communication(trace: RecordedTrace) -> Flags:
    """Which rows of `trace.gpu` are kernels that exchange data with other devices."""
    numbers = np.unique(trace.gpu.name)
    flags = np.zeros(len(trace.names), dtype=bool)
    for number in numbers:
        flags[number] = kernel_kind(trace.names[number]) == "communication"
    return flags[trace.gpu.name] & (trace.gpu.kind == KERNEL)


def _exposed_length(trace: RecordedTrace, rows: Ints, work: DeviceWork) -> int:
    on_device = rows[trace.gpu.device[rows] == work.device]
    return _union(trace, on_device).minus(work.computation).minus(work.communication).length


def _union(trace: RecordedTrace, rows: Ints) -> Intervals:
    return union(trace.gpu.start[rows], trace.gpu.end[rows])


def _host_activity(row: int, start: int, end: int, trace: RecordedTrace, tree: HostTree, launches: Launches) -> str:
    """What the thread that launched a row of `trace.gpu` did for most of an interval."""
    call = launches.call[row]
    if call == UNKNOWN or end <= start:
        return ""
    lane = trace.host.lane[[call]]
    main = tree.innermost_covering(lane, np.array([start]), np.array([end]))[0]
    return "" if main == NOTHING else tree.label(main)
