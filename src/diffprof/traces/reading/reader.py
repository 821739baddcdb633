"""Read a trace file into columns of events."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from diffprof.errors import FileFormatError
from diffprof.traces.reading.columns import (
    ANNOTATION,
    KERNEL,
    MEMCPY,
    MEMSET,
    OP,
    PYTHON,
    RUNTIME,
    UNKNOWN,
    AllocationColumns,
    EventTable,
    GpuEvents,
    HostEvents,
    Ints,
    Names,
    RecordedTrace,
    Spans,
)
from diffprof.traces.reading.walk import Event, TraceWalk

# The categories of torch.profiler, in lower case: before torch 1.12 they were written Kernel, Operator, Runtime.
GPU_KINDS = {"kernel": KERNEL, "gpu_memcpy": MEMCPY, "memcpy": MEMCPY, "gpu_memset": MEMSET, "memset": MEMSET}
HOST_KINDS = {
    "cpu_op": OP,
    "operator": OP,
    "python_function": PYTHON,
    "user_annotation": ANNOTATION,
    "cuda_runtime": RUNTIME,
    "cuda_driver": RUNTIME,
    "runtime": RUNTIME,
    "xpu_runtime": RUNTIME,
    "xpu_driver": RUNTIME,
    "privateuse1_runtime": RUNTIME,
    "privateuse1_driver": RUNTIME,
}
SPAN = "gpu_user_annotation"
MEMORY = "[memory]"

# A float of microseconds is exact to the nanosecond below this; times since 1970 are above it.
EXACT_BELOW = float(2**42)
# Half of what fits into 64 bits of nanoseconds: a start and a duration are added.
LARGEST_MICROSECONDS = float(2**62 // 1000)
# Nanoseconds from the first to the last event: a year. Parts of it are multiplied when it is cut into equal ones.
NANOSECONDS_OF_A_DAY = 24 * 3600 * 10**9
LONGEST_TRACE = 366 * NANOSECONDS_OF_A_DAY
# The largest sum of all durations or sizes, which has to fit into 64 bits, too.
LARGEST_SUM = 2**62
# The largest number of bytes of a copy or of memory in use; a larger one is damage, and treated as unknown.
LARGEST_SIZE = 2**50

# The operators whose shapes decide which attention could have run.
_WITH_SHAPES = re.compile("attention|aten::bmm|aten::baddbmm")


# JSON can contain lone surrogates, which cannot be printed or saved.
_SURROGATE = re.compile("[\ud800-\udfff]")


class _TimesTooLargeError(Exception):
    """The times do not fit into floats: the file has to be read with decimals."""


def read_trace(path: str | Path) -> RecordedTrace:
    """Read a trace that torch.profiler wrote; raise a `FileFormatError` with the reason if the file is not one."""
    try:
        return _Reader(Path(path), exact=False).read()
    except _TimesTooLargeError:
        return _Reader(Path(path), exact=True).read()


SomeEventTable = TypeVar("SomeEventTable", bound=EventTable)


class _Reader:
    def __init__(self, path: Path, exact: bool) -> None:
        self.path, self.exact = path, exact
        self.walk = TraceWalk(path, exact)
        self.names, self.lanes, self.shapes = Names(), Names(), Names()
        self.parts: dict[type[EventTable], list[EventTable]] = defaultdict(list)
        self.negative_durations = 0
        self.events = 0

    def read(self) -> RecordedTrace:
        for events in self.walk.slices():
            self.events += len(events)
            self._add(events)
        if not self.parts[GpuEvents] and not self.parts[HostEvents]:
            none = f"none of its {self.events:,} events is" if self.events else "it has no event that is"
            raise self._error(f"{none} one that torch.profiler writes (kernels, operators, runtime calls)")
        gpu, host, spans = self._concatenate(GpuEvents), self._concatenate(HostEvents), self._concatenate(Spans)
        allocations = self._concatenate(AllocationColumns)
        self._check_times(gpu, host, spans, allocations)
        end = self.walk.end_of_events
        assert end is not None
        return RecordedTrace(
            path=str(self.path),
            events=self.events,
            gpu=gpu.rows(np.lexsort((gpu.end, gpu.start))),
            # If two begin at the same time, the longer one called the other.
            host=host.rows(np.lexsort((-host.end, host.start, host.lane))),
            spans=spans,
            allocations=allocations,
            names=[_printable(name) for name in self.names.all],
            lanes=self.lanes.all,
            shapes=self.shapes.all,
            metadata=self.walk.metadata,
            end_of_events=end,
            negative_durations=self.negative_durations,
            invalid_bytes=self.walk.invalid_bytes,
        )

    def _check_times(self, gpu: GpuEvents, host: HostEvents, spans: Spans, allocations: AllocationColumns) -> None:
        """Refuse impossible times before they are added up."""
        tables = (gpu, host, spans)
        starts = [column for column in (*(table.start for table in tables), allocations.time) if len(column)]
        ends = [column for column in (*(table.end for table in tables), allocations.time) if len(column)]
        span = max(int(column.max()) for column in ends) - min(int(column.min()) for column in starts)
        if span > LONGEST_TRACE:
            raise self._error(f"its events are {span // NANOSECONDS_OF_A_DAY:,} days apart, which no run takes")
        if any(float((table.end - table.start).sum(dtype=np.float64)) > LARGEST_SUM for table in tables):
            raise self._error("its durations add up to more than a century, which no run takes")

    def _add(self, events: list[Event]) -> None:
        """Sort the events of one slice by category and append each to its table."""
        by_category: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            if event.get("ph") == "X":
                category = event.get("cat")
                by_category[category if isinstance(category, str) else ""].append(event)
            elif event.get("name") == MEMORY:
                by_category[MEMORY].append(event)
        for category, chosen in by_category.items():
            known = category.lower()
            if known in HOST_KINDS:
                self._add_host(chosen, HOST_KINDS[known])
            elif known in GPU_KINDS:
                self._add_gpu(chosen, GPU_KINDS[known])
            elif known == SPAN:
                self._add_spans(chosen)
            elif known == MEMORY:
                self._add_memory(chosen)

    def _add_host(self, events: list[Event], kind: int) -> None:
        start, end = self._times(events)
        count = len(events)
        name = self._names(events)
        correlation = shapes = _constant(count, UNKNOWN)
        if kind == RUNTIME:
            correlation = _numbers(self._arguments(events), "correlation")
        elif kind == OP:
            shapes = self._shapes(events)
        try:
            lane = self.lanes.numbers(zip(_column(events, "pid"), _column(events, "tid"), strict=True))
        except TypeError:
            raise self._error(f"an event of category {events[0].get('cat')} has no process and thread") from None
        self.parts[HostEvents].append(HostEvents(start, end, _constant(count, kind), name, lane, correlation, shapes))

    def _add_gpu(self, events: list[Event], kind: int) -> None:
        start, end = self._times(events)
        arguments = self._arguments(events)
        device = _numbers(arguments, "device", _column(events, "pid"))
        stream = _numbers(arguments, "stream", _column(events, "tid"))
        correlation, size = _numbers(arguments, "correlation"), _sizes(arguments, "bytes")
        name = self._names(events)
        row = GpuEvents(start, end, _constant(len(events), kind), name, device, stream, correlation, size)
        self.parts[GpuEvents].append(row)

    def _add_spans(self, events: list[Event]) -> None:
        start, end = self._times(events)
        device = _numbers(self._arguments(events), "device", _column(events, "pid"))
        self.parts[Spans].append(Spans(start, end, self._names(events), device))

    def _add_memory(self, events: list[Event]) -> None:
        arguments = self._arguments(events)
        self.parts[AllocationColumns].append(
            AllocationColumns(
                self._nanoseconds(events, "ts"),
                _numbers(arguments, "Device Type"),
                _numbers(arguments, "Device Id"),
                _sizes(arguments, "Total Allocated"),
                _sizes(arguments, "Total Reserved"),
            )
        )

    def _names(self, events: list[Event]) -> Ints:
        names = _column(events, "name")
        if set(map(type, names)) != {str}:
            raise self._error(f"an event of category {events[0].get('cat')} has no name")
        return self.names.numbers(names)

    def _arguments(self, events: list[Event]) -> list[dict[str, Any]]:
        arguments = [event.get("args") or {} for event in events]
        if set(map(type, arguments)) != {dict}:
            wrong = next(event for event, args in zip(events, arguments, strict=True) if type(args) is not dict)
            raise self._error(f"the args of the event {_quote_name(wrong)} are not an object")
        return arguments

    def _shapes(self, events: list[Event]) -> Ints:
        numbers = _constant(len(events), UNKNOWN)
        for place, event in enumerate(events):
            if _WITH_SHAPES.search(event["name"]):
                args = event.get("args")
                if isinstance(args, dict) and isinstance(args.get("Input Dims"), list):
                    numbers[place] = self._shape_number(args["Input Dims"], args.get("Input type"))
        return numbers

    def _shape_number(self, dimensions: list[Any], types: Any) -> int:
        """The number of the shapes and dtypes of an operator; `UNKNOWN` if they are nested too deeply for shapes."""
        try:
            # Read exactly, fractions are decimals, which JSON does not know.
            texts = [json.dumps(part, default=float) for part in (dimensions, types if isinstance(types, list) else [])]
        except RecursionError:
            return UNKNOWN
        return int(self.shapes.numbers([(texts[0], texts[1])])[0])

    def _times(self, events: list[Event]) -> tuple[Ints, Ints]:
        start, duration = self._nanoseconds(events, "ts"), self._nanoseconds(events, "dur")
        negative = duration < 0
        self.negative_durations += int(negative.sum())
        return start, start + np.where(negative, 0, duration)

    def _nanoseconds(self, events: list[Event], key: str) -> Ints:
        """Fractional microseconds as integer nanoseconds, without loss."""
        values = _column(events, key)
        try:
            if self.exact:
                return _ints([int((Decimal(value) * 1000).to_integral_value()) for value in values])
            floats = np.array(values, dtype=np.float64)
            if floats.ndim != 1:  # each of them is a list of one length
                raise self._time_error(events, key)
        except (TypeError, ValueError, ArithmeticError):
            raise self._time_error(events, key) from None
        largest = float(np.abs(floats).max())
        if not largest < LARGEST_MICROSECONDS:
            raise self._time_error(events, key)
        if largest >= EXACT_BELOW:
            raise _TimesTooLargeError
        return np.rint(floats * 1000).astype(np.int64)

    def _time_error(self, events: list[Event], key: str) -> FileFormatError:
        what = {"ts": "time (ts)", "dur": "duration (dur)"}[key]
        wrong = next((event for event in events if not _is_time(event.get(key))), events[0])
        problem = "has no" if wrong.get(key) is None else f"has {_shorten(wrong[key])} as its"
        return self._error(f"the event {_quote_name(wrong)} of category {wrong.get('cat')} {problem} {what}")

    def _concatenate(self, table: type[SomeEventTable]) -> SomeEventTable:
        parts: list[Any] = self.parts.pop(table, [])
        columns = table.__dataclass_fields__
        if not parts:
            return table(**{name: _ints([]) for name in columns})
        return table(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns})

    def _error(self, reason: str) -> FileFormatError:
        return FileFormatError(f"Cannot read {self.path}: {reason}.")


def _column(events: list[Event], key: str) -> list[Any]:
    try:
        return list(map(itemgetter(key), events))
    except KeyError:
        return [event.get(key) for event in events]


def _numbers(arguments: list[dict[str, Any]], key: str, defaults: list[Any] | None = None) -> Ints:
    """The integer under `key` of each event's arguments; without one, its default, or `UNKNOWN`."""
    values = [args.get(key) for args in arguments]
    defaults = defaults or [UNKNOWN] * len(values)
    whole = [
        value if type(value) is int else default if type(default) is int else UNKNOWN
        for value, default in zip(values, defaults, strict=True)
    ]
    try:
        return _ints(whole)
    except OverflowError:
        return _ints([number if abs(number) < 2**63 else UNKNOWN for number in whole])


def _sizes(arguments: list[dict[str, Any]], key: str) -> Ints:
    """The bytes under `key` of each event's arguments; `UNKNOWN` if that is not a valid size."""
    sizes = _numbers(arguments, key)
    return np.where((sizes >= 0) & (sizes <= LARGEST_SIZE), sizes, UNKNOWN)


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _constant(count: int, value: int) -> Ints:
    return np.full(count, value, dtype=np.int64)


def _printable(name: str) -> str:
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", name)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and -LARGEST_MICROSECONDS < value < LARGEST_MICROSECONDS


def _quote_name(event: Event) -> str:
    return repr(_shorten(event.get("name", "without a name")))


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
