"""The annotated parts of a program: how often each ran, for how long, and the GPU work launched in it."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree
from diffprof.traces.analysis.intervals import Intervals, covered_lengths, union
from diffprof.traces.analysis.kernels import is_triton
from diffprof.traces.analysis.launches import Launches
from diffprof.traces.facts import Compiled, Scheduler, TraceSection, TraceSteps
from diffprof.traces.reading.columns import ANNOTATION, KERNEL, OP, PYTHON, UNKNOWN, Ints, RecordedTrace

_NUMBER = re.compile(r"[\s#_:-]+\d+$")
_PROFILER_STEP = "ProfilerStep"
_STEP = re.compile(rf"^(?!.*scheduler)({_PROFILER_STEP}|.*\bstep|.*_step|denois\w*)$", re.I)
_COMPILED = re.compile(r"CompiledFxGraph|Torch-Compiled Region|^CompiledFunction")
_COMPILING = re.compile(r"torch/_dynamo/convert_frame\.py\(\d+\): _?compile(_inner)?$")
_SCHEDULER = re.compile(r"schedulers?/scheduling_\w+\.py\(\d+\): step$|^scheduler([._ ]?step)?$", re.I)


class Sections:
    """The annotated parts of a program, with the work that the same thread launched inside of them."""

    def __init__(self, trace: RecordedTrace, tree: HostTree, launches: Launches) -> None:
        self.trace, self.tree = trace, tree
        known = np.flatnonzero(launches.call != UNKNOWN)
        self._launched = known[np.argsort(launches.call[known], kind="stable")]
        self._calls = launches.call[self._launched]
        self._is_kernel = trace.gpu.kind == KERNEL

    def rows(self) -> tuple[TraceSection, ...]:
        """One row for each name; names that differ by a number at the end are one."""
        host = self._annotations()
        sections = [self._row(name, rows) for name, rows in host.items()]
        sections += [self._span_row(name, rows) for name, rows in self._spans().items() if name not in host]
        return tuple(sorted(sections, key=lambda row: (-row.host_ns, -row.gpu_span_ns)))

    def steps(self) -> TraceSteps | None:
        """The annotated steps or, if there are more of them, the steps that a call of the scheduler ends.

        The steps of the profiler are those of its own schedule, which may not be those of the program.
        """
        marked = [(name, rows) for name, rows in self._annotations().items() if _STEP.match(_NUMBER.sub("", name))]
        name, rows = max(
            marked,
            key=lambda pair: (len(pair[1]) > 1 and not pair[0].startswith(_PROFILER_STEP), len(pair[1])),
            default=("", np.empty(0, dtype=np.int64)),
        )
        host = self.trace.host
        scheduler = self._scheduler_rows()
        if len(scheduler) > max(len(rows), 1):
            ends = host.end[scheduler]
            starts = np.concatenate(([self._first_step_start(scheduler)], ends[:-1]))
            return self._steps(self.tree.label(scheduler[0]), scheduler, starts, ends)
        return self._steps(name, rows, host.start[rows], host.end[rows]) if len(rows) else None

    def _first_step_start(self, scheduler: Ints) -> int:
        """When the first step begins: with the call of its denoiser, the longest call between two scheduler steps."""
        host, tree = self.trace.host, self.tree
        first, second = scheduler[:2]
        loop = tree.common_caller(first, second)
        if loop != NOTHING:
            between = tree.calls(loop, host.end[first], host.start[second])
            before = tree.calls(loop, 0, host.start[first])
            if len(between):
                denoiser = host.name[between[np.argmax(host.end[between] - host.start[between])]]
                before = before[host.name[before] == denoiser]
            if len(before):
                return int(host.start[before[-1]])
        return int(host.start[first])

    def scheduler(self, idle: Intervals) -> Scheduler | None:
        rows = self._scheduler_rows()
        if not len(rows):
            return None
        host = self.trace.host
        spent = union(host.start[rows], host.end[rows])
        return Scheduler(
            name=self.tree.label(rows[0]),
            calls=len(rows),
            host_ns=spent.length,
            idle_ns=int(covered_lengths(idle, spent.start, spent.end).sum()),
        )

    def compiled_regions(self) -> Compiled | None:
        """What ran inside of compiled regions, and how long compilation took."""
        host, gpu = self.trace.host, self.trace.gpu
        rows = self._outermost(self._rows_with_name(_COMPILED, (OP, ANNOTATION)))
        compiling = self._rows_with_name(_COMPILING, (PYTHON,))
        triton = np.array([is_triton(name) for name in self.trace.names], dtype=bool)[gpu.name] & self._is_kernel
        if not len(rows) and not len(compiling) and not triton.any():
            return None
        work = list(map(self._work, rows))
        inside = np.concatenate(work) if work else np.empty(0, dtype=np.int64)
        return Compiled(
            regions=len(np.unique(host.name[rows])),
            calls=len(rows),
            host_ns=int((host.end[rows] - host.start[rows]).sum()),
            kernels=int(self._is_kernel[inside].sum()),
            gpu_busy_ns=union(gpu.start[inside], gpu.end[inside]).length,
            gpu_span_ns=sum(map(self._span, work)),
            triton_kernels=int(triton.sum()),
            triton_ns=int((gpu.end - gpu.start)[triton].sum()),
            compiling_ns=union(host.start[compiling], host.end[compiling]).length,
        )

    def _annotations(self) -> dict[str, Ints]:
        """The annotations by name; names that differ by a number at the end are one, in the order of the first."""
        rows = np.flatnonzero(self.trace.host.kind == ANNOTATION)
        groups: dict[str, list[int]] = defaultdict(list)
        for row in rows[np.argsort(self.trace.host.start[rows], kind="stable")]:
            groups[_NUMBER.sub("", self._name(row))].append(int(row))
        # A number that never changes is part of the name.
        return {
            name if len({self._name(row) for row in group}) > 1 else self._name(group[0]): np.array(group)
            for name, group in groups.items()
        }

    def _name(self, row: int) -> str:
        return self.trace.names[self.trace.host.name[row]]

    def _row(self, name: str, rows: Ints) -> TraceSection:
        host, gpu = self.trace.host, self.trace.gpu
        work = list(map(self._work, rows))
        kernels = [int(self._is_kernel[launched].sum()) for launched in work]
        inside = np.concatenate(work)
        return TraceSection(
            name=name,
            calls=len(rows),
            host_ns=int((host.end[rows] - host.start[rows]).sum()),
            gpu_busy_ns=union(gpu.start[inside], gpu.end[inside]).length,
            gpu_span_ns=sum(map(self._span, work)),
            kernels=sum(kernels),
            fewest_kernels=min(kernels),
            most_kernels=max(kernels),
        )

    def _spans(self) -> dict[str, Ints]:
        """The annotations as they show on the devices, by name."""
        names = self.trace.spans.name
        return {self.trace.names[number]: np.flatnonzero(names == number) for number in np.unique(names)}

    def _span_row(self, name: str, rows: Ints) -> TraceSection:
        """The work of a device from the start to the end of each span."""
        gpu, spans = self.trace.gpu, self.trace.spans.rows(rows)
        inside = [
            np.flatnonzero((gpu.device == device) & (gpu.start >= start) & (gpu.start < end))
            for device, start, end in zip(spans.device, spans.start, spans.end, strict=True)
        ]
        kernels = [int(self._is_kernel[launched].sum()) for launched in inside]
        work = np.concatenate(inside)
        return TraceSection(
            name=name,
            calls=len(rows),
            host_ns=0,
            gpu_busy_ns=union(gpu.start[work], gpu.end[work]).length,
            gpu_span_ns=int((spans.end - spans.start).sum()),
            kernels=sum(kernels),
            fewest_kernels=min(kernels),
            most_kernels=max(kernels),
        )

    def _steps(self, found_by: str, rows: Ints, starts: Ints, ends: Ints) -> TraceSteps:
        gpu, lanes = self.trace.gpu, self.trace.host.lane[rows]
        spans = zip(lanes.tolist(), starts.tolist(), ends.tolist(), strict=True)
        work = [self._rows_launched_between(lane, start, end) for lane, start, end in spans]
        return TraceSteps(
            found_by=found_by,
            kernels=tuple(int(self._is_kernel[launched].sum()) for launched in work),
            host_ns=tuple((ends - starts).tolist()),
            gpu_busy_ns=tuple(union(gpu.start[launched], gpu.end[launched]).length for launched in work),
            allocated_bytes=self._allocated_bytes(ends),
        )

    def _allocated_bytes(self, moments: Ints) -> tuple[int, ...]:
        """The memory that the allocators of the devices held at each time."""
        memory = self.trace.allocations
        on_device = memory.rows(memory.device_type > 0)
        if not len(on_device):
            return ()
        held = np.zeros(len(moments), dtype=np.int64)
        for device in np.unique(on_device.device):
            changes = on_device.rows(on_device.device == device)
            order = np.argsort(changes.time, kind="stable")
            last = np.searchsorted(changes.time[order], moments, side="right") - 1
            held += np.where(last >= 0, changes.allocated_bytes[order][last], 0)
        return tuple(held.tolist())

    def _scheduler_rows(self) -> Ints:
        return self._outermost(self._rows_with_name(_SCHEDULER, (PYTHON, ANNOTATION)))

    def _rows_with_name(self, pattern: re.Pattern[str], kinds: tuple[int, ...]) -> Ints:
        host = self.trace.host
        of_kind = np.flatnonzero(np.isin(host.kind, kinds))
        flags = np.zeros(len(self.trace.names), dtype=bool)
        for number in np.unique(host.name[of_kind]):
            flags[number] = bool(pattern.search(self.trace.names[number]))
        return of_kind[flags[host.name[of_kind]]]

    def _outermost(self, rows: Ints) -> Ints:
        """The rows that are not inside of another one on the same thread."""
        host = self.trace.host
        outermost: list[int] = []
        for row in rows:
            if (
                not outermost
                or host.lane[row] != host.lane[outermost[-1]]
                or host.start[row] >= host.end[outermost[-1]]
            ):
                outermost.append(int(row))
        return np.array(outermost, dtype=np.int64)

    def _work(self, row: int) -> Ints:
        host = self.trace.host
        return self._rows_launched_between(int(host.lane[row]), int(host.start[row]), int(host.end[row]))

    def _rows_launched_between(self, lane: int, start: int, end: int) -> Ints:
        """The rows of `trace.gpu` that a thread launched between two times."""
        first, last = self.tree.rows_between(lane, start, end)
        return self._launched[np.searchsorted(self._calls, first) : np.searchsorted(self._calls, last)]

    def _span(self, rows: Ints) -> int:
        gpu = self.trace.gpu
        return int(gpu.end[rows].max() - gpu.start[rows].min()) if len(rows) else 0
