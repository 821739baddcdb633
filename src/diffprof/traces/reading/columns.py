"""The events of a trace as columns: a few numbers for each event, its name once for all."""

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
    """Texts by number, each once."""

    def __init__(self) -> None:
        # Numbers that are given out by the look-up itself: no Python code runs for each of millions of events.
        self._numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)

    def numbers(self, names: Iterable[Hashable]) -> Ints:
        return np.array(list(map(self._numbers.__getitem__, names)), dtype=np.int64)

    @property
    def all(self) -> list[Any]:
        return list(self._numbers)


@dataclass(frozen=True)
class Table:
    """Columns of one length."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def rows(self: SomeTable, chosen: Ints | Flags | slice) -> SomeTable:
        """The chosen rows."""
        return type(self)(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


SomeTable = TypeVar("SomeTable", bound=Table)


def values_at(column: Ints, rows: Ints, instead: int | Ints) -> Ints:
    """The value in each row, and `instead` where the row is `UNKNOWN`."""
    known = rows != UNKNOWN
    found = np.broadcast_to(np.asarray(instead, dtype=np.int64), rows.shape).copy()
    found[known] = column[rows[known]]
    return found


# What a row of `Gpu` is.
KERNEL, MEMCPY, MEMSET = 0, 1, 2


@dataclass(frozen=True)
class Gpu(Table):
    """What ran on a device, by its start. Times are in nanoseconds of the trace's own clock, everywhere."""

    start: Ints
    end: Ints
    kind: Ints
    name: Ints
    device: Ints
    stream: Ints
    correlation: Ints
    size_bytes: Ints
    """Of a copy; `UNKNOWN` where the trace does not say."""


# What a row of `Host` is.
OP, PYTHON, ANNOTATION, RUNTIME = 0, 1, 2, 3


@dataclass(frozen=True)
class Host(Table):
    """What ran on the host, by thread (lane) and start: operators, Python functions, annotations and runtime calls."""

    start: Ints
    end: Ints
    kind: Ints
    name: Ints
    lane: Ints
    correlation: Ints
    """Of a runtime call, shared with what it launched."""
    shapes: Ints
    """Of an operator of attention: the number of its shapes and dtypes, where recorded."""


@dataclass(frozen=True)
class Spans(Table):
    """Annotations as they show on a device: from the first to the last kernel that was launched inside."""

    start: Ints
    end: Ints
    name: Ints
    device: Ints


@dataclass(frozen=True)
class Allocations(Table):
    """The state of an allocator each time that it changed."""

    time: Ints
    device_type: Ints
    device: Ints
    allocated_bytes: Ints
    reserved_bytes: Ints


@dataclass(frozen=True)
class Trace:
    """A trace, read."""

    path: str
    events: int
    gpu: Gpu
    host: Host
    spans: Spans
    allocations: Allocations
    names: list[str]
    lanes: list[tuple[Any, Any]]
    """Process and thread."""
    shapes: list[tuple[str, str]]
    """Dimensions and dtypes of an operator's inputs, as JSON."""
    metadata: Mapping[str, Any]
    end_of_events: int
    negative_durations: int

    def start_and_end(self) -> tuple[int, int]:
        """The first and the last moment that anything was recorded at."""
        tables: tuple[Gpu | Host, ...] = (self.gpu, self.host)
        starts = [int(table.start.min()) for table in tables if len(table)]
        ends = [int(table.end.max()) for table in tables if len(table)]
        return min(starts), max(ends)
