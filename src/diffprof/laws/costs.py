"""One cost of a program for one request: its sums at once, each table on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from diffprof.laws.cost_structure import CostStructure, EventSequence
from diffprof.laws.folding import unfold
from diffprof.record.allocations import ALLOCATE, MASKED_ATTENTION, OPERATION, RELEASE, AllocationEvent, Allocations
from diffprof.record.executed_calls import Event, operation_records, sort_rows
from diffprof.record.profile import Attention, AttentionSite, Cost, ModuleWork, Operation, Work
from diffprof.record.tensors import OperationShapes

if TYPE_CHECKING:
    from diffprof.laws.programs import FilledProgram


@dataclass(frozen=True)
class CostSums:
    """The sums over the operations of a cost, as numbers of polynomials."""

    work: tuple[int, int, int, int]
    executed_ops: int
    known_ops: int
    known_bytes: int
    unknown: Mapping[str, int] = field(default_factory=dict)
    peaks: tuple[int, ...] | None = None
    """The peak of live bytes is the largest of these; None if it has to be computed from the events."""
    calls: int = 0
    """Calls per generation."""
    attention_macs: int = 0


class CostValues:
    """One cost of a program."""

    def __init__(self, program: FilledProgram, structure: CostStructure, sums: CostSums) -> None:
        self._program = program
        self._structure = structure
        self._sums = sums

    def _part(self, name: str) -> Any:
        return self._program.fill(self._structure.parts[name])

    @property
    def calls(self) -> int:
        """The number of calls."""
        return self._program.value(self._sums.calls)

    @property
    def attention_macs(self) -> int:
        """MACs of attention in one call."""
        return self._program.value(self._sums.attention_macs)

    @cached_property
    def call(self) -> tuple[str, str]:
        """Component and method."""
        component, method = self._part("call")
        return component, method

    @cached_property
    def work(self) -> Work:
        return Work(*map(self._program.value, self._sums.work))

    @property
    def executed_ops(self) -> int:
        return self._program.value(self._sums.executed_ops)

    @property
    def known_ops(self) -> int:
        return self._program.value(self._sums.known_ops)

    @property
    def known_bytes(self) -> int:
        return self._program.value(self._sums.known_bytes)

    @property
    def unknown(self) -> dict[str, int]:
        return {name: self._program.value(number) for name, number in self._sums.unknown.items()}

    @cached_property
    def peak_live_bytes(self) -> int:
        if self._sums.peaks is not None:
            return max(map(self._program.value, self._sums.peaks), default=0)
        return peak_of(self.events) if self._part("has_peak") else 0

    @property
    def events(self) -> list[Event]:
        """The allocation events; the value of an operation is its row in the template."""
        events = self._distinct_events
        return [events[number] for number in self._sequence.numbers]

    @cached_property
    def _sequence(self) -> EventSequence:
        return self._structure.sequence(self._program.fill)

    @cached_property
    def _distinct_events(self) -> list[Event]:
        fill = self._program.fill
        return [symbol if isinstance(symbol, tuple) else fill(symbol) for symbol in self._sequence.symbols]

    def as_cost(self) -> Cost:
        """Return the cost; if it equals that of a recent request, the same object."""
        return self._structure.remember(
            self._program.values_of(self._structure),
            lambda: Cost.with_lazy_tables(self.work, self.peak_live_bytes, self._table),
        )

    def _table(self, name: str) -> Any:
        return getattr(self, f"_{name}")()

    @cached_property
    def _rows(self) -> list[tuple[_RowValues, list[int]]]:
        """Return the operations by row: count, MACs, other FLOPs and bytes."""
        rows: dict[_RowValues, list[int]] = {}
        fill = self._program.fill
        for (op, count), modules in self._structure.operations.items():
            row, *amounts = fill(op)
            times = fill(count) * modules
            sums = rows.setdefault(row_values(row), [0, 0, 0, 0, 0, 0])
            sums[0] += times
            for i, amount in enumerate(amounts):
                sums[i + 1] += amount * times
        return sort_rows(rows)

    def _operations(self) -> tuple[Operation, ...]:
        return operation_records(
            ((name, kind, OperationShapes(inputs, outputs), dtype), sums)
            for (name, kind, inputs, outputs, dtype), sums in self._rows
        )

    def _modules(self) -> tuple[ModuleWork, ...]:
        fill = self._program.fill
        works: dict[int, Work] = {}
        modules = []
        for names, (*_, operations) in zip(self._structure.module_names(fill), self._structure.modules, strict=True):
            work = works.get(operations)
            if work is None:
                work = works[operations] = _work(fill(operations))
            modules.append(ModuleWork(*names, work))
        return tuple(modules)

    def _called_modules(self) -> list[tuple[str, int]]:
        return self._structure.called_modules(self._program.fill)

    def _attention(self) -> tuple[Attention, ...]:
        return _group_attention(self._part("attention"))

    def _allocations(self) -> Allocations:
        numbers = {row: number for number, (row, _) in enumerate(self._rows)}
        distinct: dict[Event, int] = {}
        places: list[int | None] = []
        for event in self._distinct_events:
            kind, value, step = event
            if kind in (OPERATION, MASKED_ATTENTION):
                number = numbers.get(row_values(value)) if isinstance(value, tuple) else None
                if number is None:  # it is counted as another operation
                    places.append(None)
                    continue
                event = (kind, number, step)
            places.append(distinct.setdefault(event, len(distinct)))
        events = tuple([AllocationEvent(*event) for event in distinct])
        return Allocations(events, self._sequence.order(tuple(places), len(events)))


_RowValues = tuple[str, str, tuple[Any, ...], tuple[Any, ...], str]
"""Name, kind, inputs, outputs and dtype."""


def row_values(value: tuple[Any, ...]) -> _RowValues:
    """Return the row that a value of a template describes."""
    name, kind, inputs, outputs, dtype = value
    return name, kind, tuple(unfold(inputs)), outputs, dtype


def _work(operations: Iterable[tuple[Any, int]]) -> Work:
    """Add up the operations of a module."""
    macs = other_flops = read = written = 0
    for (_, *amounts), count in operations:
        macs += amounts[0] * count
        other_flops += amounts[1] * count
        read += amounts[2] * count
        written += amounts[3] * count
    return Work(macs, other_flops, read, written)


_SITE = len(fields(AttentionSite))


def _group_attention(rows: Iterable[tuple[Any, ...]]) -> tuple[Attention, ...]:
    """Add up equal rows of attention."""
    grouped: dict[tuple[Any, ...], list[int]] = {}
    for *row, scaled in rows:
        sums = grouped.setdefault((*row[:_SITE], scaled), [0, 0, 0, 0])
        for i, amount in enumerate(row[_SITE:]):
            sums[i] += amount
    return tuple(Attention(*key[:-1], *sums) for key, sums in grouped.items())


def peak_of(events: Iterable[Event]) -> int:
    """Return the most bytes that are live at one time."""
    sizes: list[int] = []
    live = peak = 0
    for kind, value, _ in events:
        if kind == ALLOCATE:
            sizes.append(value)
            live += value
            if live > peak:
                peak = live
        elif kind == RELEASE:
            live -= sizes[-value]
    return peak
