"""The operations that a component call executed, and the `Cost` that they add up to.

Operations of equal shapes become one row, wherever they were executed. The same operations give the same `Cost`,
whether they come from running a pipeline or from a law.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from diffprof.record.allocations import (
    ALLOCATE,
    CALL,
    MASKED_ATTENTION,
    OPERATION,
    RELEASE,
    AllocationEvent,
    Allocations,
    compress,
    step_number,
)
from diffprof.record.profile import Attention, Cost, ModuleWork, Operation, Work
from diffprof.record.tensors import OperationShapes

UNKNOWN = "unknown"
"""The kind of an operation that has no formula."""


@dataclass(frozen=True, eq=False)
class ExecutedOp:
    """One operation on certain shapes: the same object for each execution, so that counting it is one addition."""

    name: str
    kind: str
    shapes: OperationShapes
    dtype: str
    macs: int
    other_flops: int
    read_bytes: int
    written_bytes: int
    strided_bytes: int = 0

    @property
    def row(self) -> OperationRow:
        """The row of the operation."""
        return self.name, self.kind, self.shapes, self.dtype


OperationRow = tuple[str, str, OperationShapes, str]
"""Name, kind, shapes and dtype, which all operations of a row have in common."""


@dataclass(frozen=True)
class ModuleTally:
    """The operations of one module, without its children."""

    path: str
    class_name: str
    calls: int
    operations: Sequence[tuple[ExecutedOp, int]]
    """In the order of first execution, with the number of executions."""


@dataclass(frozen=True)
class ExecutedCall:
    """Everything that one component call executed."""

    modules: Sequence[ModuleTally]
    """In the order of first calls."""
    attention: Sequence[tuple[Attention, bool]]
    """Each with whether the kernel scales the scores itself; attention that differs in this is not added up."""
    log: Sequence[Any]
    """The allocations and releases: the raw list of an `AllocationLog`."""

    def cost(self, peak_live_bytes: int) -> Cost:
        works, rows = group_operations(self.modules)
        numbers = {key: number for number, (key, _) in enumerate(rows)}
        return Cost(
            work=sum((module.work for module in works), Work()),
            peak_live_bytes=peak_live_bytes,
            operations=operation_records(rows),
            modules=works,
            attention=tuple(record for record, _ in self.attention),
            allocations=number_events(self.events(), numbers),
        )

    def events(self) -> Iterable[Event]:
        """Return the log, with operations by row."""
        places = {module.path: place for place, module in enumerate(self.modules)}
        return relative_events(self.log, places)


Row = TypeVar("Row")


def group_operations(
    modules: Iterable[ModuleTally],
) -> tuple[tuple[ModuleWork, ...], list[tuple[OperationRow, list[int]]]]:
    """Return the work of each module, and the operations by row, most MACs first: count, MACs, other FLOPs, bytes."""
    operations: dict[OperationRow, list[int]] = {}
    works = []
    for module in modules:
        sums = [0, 0, 0, 0]
        for op, count in module.operations:
            row = operations.setdefault(op.row, [0, 0, 0, 0, 0, 0])
            row[0] += count
            row[5] += op.strided_bytes * count
            for i, amount in enumerate((op.macs, op.other_flops, op.read_bytes, op.written_bytes)):
                row[i + 1] += amount * count
                sums[i] += amount * count
        works.append(ModuleWork(module.path, module.class_name, module.calls, Work(*sums)))
    return tuple(works), sort_rows(operations)


def sort_rows(operations: Mapping[Row, list[int]]) -> list[tuple[Row, list[int]]]:
    """Return the executed rows, most MACs first."""
    return [item for item in sorted(operations.items(), key=lambda item: -item[1][1]) if item[1][0]]


def operation_records(rows: Iterable[tuple[OperationRow, Sequence[int]]]) -> tuple[Operation, ...]:
    """Convert the rows of `group_operations` to records."""
    return tuple(
        Operation(*key, row[0], Work(*row[1:5]), known=key[1] != UNKNOWN, strided_bytes=row[5]) for key, row in rows
    )


Event = tuple[str, Any, int]
"""Kind, value and step of an `AllocationEvent`; the value of an operation is its row."""


def relative_events(log: Iterable[Any], places: Mapping[str, int]) -> Iterable[Event]:
    """Return the events of a log, with modules by distance from the previous one, and operations by row."""
    allocated = latest_place = 0
    for entry in log:
        if entry.__class__ is int:
            yield RELEASE, allocated - entry, 0
        elif entry is None:
            yield CALL, 0, 0
        elif entry[0].__class__ is int:
            place = places[entry[1]]
            yield ALLOCATE, entry[0], step_number(place - latest_place)
            latest_place = place
            allocated += 1
        else:
            yield MASKED_ATTENTION if entry[1] else OPERATION, entry[0].row, 0


def number_events(events: Iterable[Event], rows: Mapping[Any, int]) -> Allocations:
    """Return the sequence for a `Cost`, with operations by the numbers of their rows."""
    distinct: dict[tuple[str, int, int], int] = {}
    numbers: list[int] = []
    for event in events:
        kind, value, step = event
        if kind in (OPERATION, MASKED_ATTENTION):
            number = rows.get(value)
            if number is None:  # it is counted as another operation
                continue
            event = (kind, number, step)
        numbers.append(distinct.setdefault(event, len(distinct)))
    return compress([AllocationEvent(*key) for key in distinct], numbers)
