"""What a pipeline executes in one way of calling it, as a template with numbers; filled in, it is a `Profile`.

The values of a template follow `counting.derivation.program_values`: every operation of every module by itself, so that
rows are grouped for each request anew, exactly as the engine groups them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from diffprof.errors import DiffprofError
from diffprof.laws.events import with_ages
from diffprof.laws.folding import unfold
from diffprof.laws.polynomials import PolynomialTable, monomial_value
from diffprof.laws.templates import Template
from diffprof.laws.variables import Variable, values_of
from diffprof.record.allocations import ALLOCATE, RELEASE
from diffprof.record.executed import (
    Event,
    ExecutedOp,
    ModuleTally,
    OperationRow,
    group_operations,
    number_events,
    operation_records,
)
from diffprof.record.profile import Attention, AttentionSite, Cost, Work
from diffprof.record.tensors import OperationShapes


class OutsideOfLaw(DiffprofError):
    """A request that the law says nothing about."""


@dataclass(frozen=True)
class CostSums:
    """Numbers of polynomials: what the operations of a cost add up to."""

    work: tuple[int, int, int, int]
    executed_ops: int
    known_ops: int
    known_bytes: int
    unknown: Mapping[str, int] = field(default_factory=dict)
    peaks: tuple[int, ...] | None = None
    """The largest of these is the peak of live bytes; None where it has to be found in the events."""
    calls: int = 0
    """How often it is called in one generation."""
    attention_macs: int = 0


@dataclass(frozen=True)
class Program:
    """A template, and the polynomials of the numbers in it."""

    template: Template
    root: int
    table: PolynomialTable
    variables: tuple[Variable, ...]
    sums: tuple[CostSums, ...]
    made: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    """What was made of constant values, by their identity."""

    @cached_property
    def parts(self) -> dict[str, int]:
        """The nodes of the parts of the program, by name."""
        _, keys, children = self.template.nodes[self.root]
        return dict(zip(keys, children, strict=True))

    @cached_property
    def cost_calls(self) -> list[tuple[str, str]]:
        """Component and method of each cost."""
        filled = FilledProgram(self, _NO_VALUES)
        return [cost.call for cost in filled.costs]

    @cached_property
    def dtype(self) -> str | None:
        """The one dtype that all weights have; None where they differ."""
        filled = FilledProgram(self, _NO_VALUES)
        dtypes = {dtype for _, _, _, *_, by_dtype, _ in filled.part("components") for dtype, _ in by_dtype}
        return dtypes.pop() if len(dtypes) == 1 else None

    def at(self, numbers: Mapping[str, int]) -> FilledProgram:
        """The program for the numbers of a request."""
        return FilledProgram(self, Values(self.table, values_of(self.variables, numbers)))


class Values:
    """The values of polynomials, each worked out when it is asked for."""

    def __init__(self, table: PolynomialTable, variables: Mapping[str, int]) -> None:
        self._table = table
        self._terms = [monomial_value(monomial, variables) for monomial in table.monomials]
        self._known: dict[int, int] = {}

    def __getitem__(self, number: int) -> int:
        value = self._known.get(number)
        if value is None:
            row = self._table.rows[number]
            terms = self._terms
            total = 0
            for i in range(1, len(row), 2):
                total += terms[row[i]] * row[i + 1]
            value, rest = divmod(total, row[0])
            if rest:
                raise OutsideOfLaw("a number of the law is not whole here")
            self._known[number] = value
        return value


_NO_VALUES = Values(PolynomialTable([], []), {})


class FilledProgram:
    """The values of a program for one request, each worked out when it is asked for."""

    def __init__(self, program: Program, values: Values) -> None:
        self._program = program
        self._values = values
        self._known: dict[int, Any] = {}

    def part(self, name: str) -> Any:
        return self.fill(self._program.parts[name])

    @cached_property
    def costs(self) -> list[CostValues]:
        """The distinct costs, in the order of the first call of each; the last is the pipeline's own."""
        _, children = self._program.template.nodes[self._program.parts["costs"]]
        return [CostValues(self, node, sums) for node, sums in zip(children, self._program.sums, strict=True)]

    def fill_key(self, node: int, key: str) -> Any:
        """One value of a dictionary."""
        _, keys, children = self._program.template.nodes[node]
        return self.fill(children[list(keys).index(key)])

    def fill(self, node: int) -> Any:
        return self._program.template.fill(node, self._values, self._known)

    def value(self, number: int) -> int:
        return self._values[number]

    def once(self, value: tuple[Any, ...], make: Callable[[tuple[Any, ...]], Any]) -> Any:
        """What is made of a value that is the same for every request: made once for the program."""
        made = self._program.made
        if id(value) not in made:
            made[id(value)] = (value, make(value))
        return made[id(value)][1]


class CostValues:
    """One cost of a program."""

    def __init__(self, program: FilledProgram, node: int, sums: CostSums) -> None:
        self._program = program
        self._node = node
        self._sums = sums

    @cached_property
    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = self._program.fill(self._node)
        return parts

    @property
    def calls(self) -> int:
        """How often it is called."""
        return self._program.value(self._sums.calls)

    @property
    def attention_macs(self) -> int:
        """Of one call."""
        return self._program.value(self._sums.attention_macs)

    @cached_property
    def call(self) -> tuple[str, str]:
        """Component and method."""
        component, method = self._program.fill_key(self._node, "call")
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
        if not self._parts["has_peak"]:
            return 0
        return peak_of(self.events)

    @cached_property
    def events(self) -> list[Event]:
        return list(with_ages(unfold(self._parts["events"])))

    def _events_with_rows(self) -> Iterator[Event]:
        rows: dict[int, OperationRow] = {}
        for kind, value, step in self.events:
            if isinstance(value, tuple):
                if id(value) not in rows:
                    rows[id(value)] = operation_row(value)
                yield kind, rows[id(value)], step
            else:
                yield kind, value, step

    def as_cost(self) -> Cost:
        return Cost.deferred(self.work, self.peak_live_bytes, self._complete)

    def _complete(self) -> Cost:
        ops: dict[int, ExecutedOp] = {}
        modules = [
            ModuleTally(path, class_name, calls, [(_op(ops, op), count) for op, count in operations])
            for path, class_name, calls, operations in self._parts["modules"]
        ]
        works, rows = group_operations(modules)
        numbers = {key: number for number, (key, _) in enumerate(rows)}
        return Cost(
            work=sum((module.work for module in works), Work()),
            peak_live_bytes=self.peak_live_bytes,
            operations=operation_records(rows),
            modules=works,
            attention=_group_attention(self._parts["attention"]),
            allocations=number_events(self._events_with_rows(), numbers),
        )


def _op(known: dict[int, ExecutedOp], value: tuple[Any, ...]) -> ExecutedOp:
    """The operation that a value describes; equal values of one filling are one object."""
    op = known.get(id(value))
    if op is None:
        row, *costs = value
        op = known[id(value)] = ExecutedOp(*operation_row(row), *costs)
    return op


def operation_row(value: tuple[Any, ...]) -> OperationRow:
    name, kind, inputs, outputs, dtype = value
    return name, kind, OperationShapes(tuple(unfold(inputs)), outputs), dtype


_SITE = len(fields(AttentionSite))


def _group_attention(rows: Iterable[tuple[Any, ...]]) -> tuple[Attention, ...]:
    """Rows of one attention each, with equal ones added up."""
    grouped: dict[tuple[Any, ...], list[int]] = {}
    for *row, scaled in rows:
        sums = grouped.setdefault((*row[:_SITE], scaled), [0, 0, 0, 0])
        for i, amount in enumerate(row[_SITE:]):
            sums[i] += amount
    return tuple(Attention(*key[:-1], *sums) for key, sums in grouped.items())


def peak_of(events: Iterable[Event]) -> int:
    """The most bytes that are alive at one time."""
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
