"""The events of a trace as columns of numbers, with each distinct name stored once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNKNOWN = -1


class Names:
    """Numbers distinct names."""

    def __init__(self) -> None:
        # A defaultdict assigns numbers during the lookup, without running Python code for each of millions of events.
        self._numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)

    def numbers(self, names: Iterable[Hashable]) -> Ints:
        return np.array(list(map(self._numbers.__getitem__, names)), dtype=np.int64)

    @property
    def all(self) -> list[Any]:
        return list(self._numbers)


@dataclass(frozen=True)
class EventTable:
    """Columns of one length."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def rows(self: SomeEventTable, chosen: Ints | Flags | slice) -> SomeEventTable:
        """The chosen rows."""
        return type(self)(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


SomeEventTable = TypeVar("SomeEventTable", bound=EventTable)


def values_at(column: Ints, rows: Ints, default: int | Ints) -> Ints:
    """The value in each row, and `default` where the row is `UNKNOWN`."""
    known = rows != UNKNOWN
    values = np.broadcast_to(np.asarray(default, dtype=np.int64), rows.shape).copy()
    values[known] = column[rows[known]]
    return values


# What a row of `GpuEvents` is.
KERNEL, MEMCPY, MEMSET = 0, 1, 2


@dataclass(frozen=True)
class GpuEvents(EventTable):
    """What ran on the devices, ordered by start. All times are nanoseconds on the trace's own clock."""

    start: Ints
    end: Ints
    kind: Ints
    name: Ints
    device: Ints
    stream: Ints
    correlation: Ints
    size_bytes: Ints
    """Bytes of a copy; `UNKNOWN` if they were not recorded."""


# What a row of `HostEvents` is.
OP, PYTHON, ANNOTATION, RUNTIME = 0, 1, 2, 3


@dataclass(frozen=True)
class HostEvents(EventTable):
    """Operators, Python functions, annotations and runtime calls of the host, ordered by thread (lane) and start."""

    start: Ints
    end: Ints
    kind: Ints
    name: Ints
    lane: Ints
    correlation: Ints
    """The correlation id of a runtime call, shared with the work it launched."""
    shapes: Ints
    """The number of the shapes and dtypes of an attention operator, if they were recorded."""


@dataclass(frozen=True)
class Spans(EventTable):
    """Annotations on a device: from the first to the last kernel that was launched inside of each."""

    start: Ints
    end: Ints
    name: Ints
    device: Ints


@dataclass(frozen=True)
class AllocationColumns(EventTable):
    """The state of an allocator after each of its changes."""

    time: Ints
    device_type: Ints
    device: Ints
    allocated_bytes: Ints
    reserved_bytes: Ints


@dataclass(frozen=True)
class RecordedTrace:
    """The contents of a trace file."""

    path: str
    events: int
    gpu: GpuEvents
    host: HostEvents
    spans: Spans
    allocations: AllocationColumns
    names: list[str]
    lanes: list[tuple[Any, Any]]
    """Process and thread."""
    shapes: list[tuple[str, str]]
    """Dimensions and dtypes of an operator's inputs, as JSON."""
    metadata: Mapping[str, Any]
    end_of_events: int
    """The offset, in decompressed bytes, of the bracket that closes the list of events."""
    negative_durations: int
    invalid_bytes: int
    """Bytes that are not valid UTF-8; in names they are spelled out, as ``\\xff``."""

    def start_and_end(self) -> tuple[int, int]:
        """When the first event starts and the last one ends."""
        tables: tuple[GpuEvents | HostEvents, ...] = (self.gpu, self.host)
        starts = [int(table.start.min()) for table in tables if len(table)]
        ends = [int(table.end.max()) for table in tables if len(table)]
        return min(starts), max(ends)
