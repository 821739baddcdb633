"""Make programs of merged samples: fit every number, compute sums symbolically, store equal parts once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from diffprof.errors import DiffprofError
from diffprof.laws.costs import CostSums
from diffprof.laws.events import RELEASE_NEXT
from diffprof.laws.fitting import Fitter
from diffprof.laws.folding import LOOP
from diffprof.laws.polynomials import (
    Monomial,
    Polynomial,
    PolynomialTable,
    add,
    constant,
    is_dominated,
    multiply,
    negate,
)
from diffprof.laws.programs import Program
from diffprof.laws.templates import CONSTANT, NUMBER, TemplateBuilder, TemplateMerger
from diffprof.laws.variables import Variable
from diffprof.record.allocations import ALLOCATE, RELEASE
from diffprof.record.executed_calls import UNKNOWN
from diffprof.record.profile import Attention

QK_MACS, AV_MACS = ([field.name for field in fields(Attention)].index(name) for name in ("qk_macs", "av_macs"))
"""Positions in a row of attention."""


class NoLaw(DiffprofError):
    """No closed form was found for the cost of a pipeline."""


@dataclass(frozen=True)
class FittedProgram:
    """The merged samples of one program, with a polynomial for every number."""

    root: int
    nodes: Sequence[tuple[Any, ...]]
    polynomials: Sequence[Polynomial]
    variables: tuple[Variable, ...]


def fit_program(samples: Sequence[Any], fitter: Fitter) -> FittedProgram:
    """Fit a program to the values of its samples; raise `NoLaw` or `DifferentForms` if there is none."""
    builder = TemplateBuilder()
    root = builder.merge(samples)
    fitted = _fit_all(builder, fitter)
    used = {name for polynomial in fitted for monomial in polynomial for name, _ in monomial}
    return FittedProgram(root, builder.node_list, fitted, tuple(one for one in fitter.variables if one.name in used))


def pack_programs(fitted: Sequence[FittedProgram]) -> list[Program]:
    """Pack the programs so that they share one template and one table of polynomials."""
    packer = _Packer()
    drafts = [packer.add(one) for one in fitted]
    template = packer.merger.template()
    table = PolynomialTable.pack([dict(key) for key in packer.polynomials])
    # The table is evaluated as a whole, so every program has the variables of all.
    variables = tuple(dict.fromkeys(variable for one in fitted for variable in one.variables))
    return [Program(template, packer.merger.number(root), table, variables, sums) for root, sums in drafts]


class _Packer:
    def __init__(self) -> None:
        self.merger = TemplateMerger()
        self.polynomials: dict[tuple[tuple[Monomial, Fraction], ...], int] = {}
        self._known: dict[tuple[bool, int], CostSums] = {}
        """Sums by the place of the cost; programs share most costs."""

    def add(self, fitted: FittedProgram) -> tuple[tuple[bool, int], tuple[CostSums, ...]]:
        """Add a program; return the place of its root and the sums of its costs."""
        numbers = [self._number(polynomial) for polynomial in fitted.polynomials]
        places = self.merger.add(fitted.nodes, numbers)
        walker = _Walker(fitted.nodes, fitted.polynomials)
        calls = walker.calls(walker.key(fitted.root, "calls"), constant(1))
        costs = walker.children(walker.key(fitted.root, "costs"))
        for cost in costs:
            if places[cost] not in self._known:
                self._known[places[cost]] = self._sums(walker, cost)
        called = [self._number(calls.get(number, {})) for number in range(len(costs))]
        found = zip(costs, called, strict=True)
        return places[fitted.root], tuple(replace(self._known[places[cost]], calls=number) for cost, number in found)

    def _number(self, polynomial: Polynomial) -> int:
        return self.polynomials.setdefault(tuple(sorted(polynomial.items())), len(self.polynomials))

    def _sums(self, walker: _Walker, cost: int) -> CostSums:
        """Return all sums but the number of calls."""
        work: list[Polynomial] = [{}, {}, {}, {}]
        executed: Polynomial = {}
        known: Polynomial = {}
        known_bytes: Polynomial = {}
        unknown: dict[str, Polynomial] = {}
        for (op, count), times in walker.executed_operations(cost).items():
            row, *amounts = walker.children(op)
            repeated = multiply(walker.polynomial(count), constant(times))
            parts = [multiply(walker.polynomial(amount), repeated) for amount in amounts[:4]]
            work = [add(one, part) for one, part in zip(work, parts, strict=True)]
            executed = add(executed, repeated)
            name, kind = (walker.constant(child) for child in walker.children(row)[:2])
            if kind == UNKNOWN:
                unknown[name] = add(unknown.get(name, {}), repeated)
            else:
                known = add(known, repeated)
                known_bytes = add(known_bytes, parts[2], parts[3])
        peaks = walker.peaks(cost)
        return CostSums(
            work=(self._number(work[0]), self._number(work[1]), self._number(work[2]), self._number(work[3])),
            executed_ops=self._number(executed),
            known_ops=self._number(known),
            known_bytes=self._number(known_bytes),
            unknown={name: self._number(count) for name, count in unknown.items()},
            peaks=None if peaks is None else tuple(self._number(peak) for peak in peaks),
            attention_macs=self._number(walker.attention_macs(cost)),
        )


def _fit_all(builder: TemplateBuilder, fitter: Fitter) -> list[Polynomial]:
    fitted = []
    for vector, number in builder.vectors.items():
        polynomial = fitter.fit(vector)
        if polynomial is None:
            raise NoLaw(f"{builder.paths[number]} follows no polynomial: {vector}")
        fitted.append(polynomial)
    return fitted


class _Walker:
    """Reads merged values: constants, and polynomials where they differ."""

    def __init__(self, nodes: Sequence[tuple[Any, ...]], fitted: Sequence[Polynomial]) -> None:
        self._nodes = nodes
        self._fitted = fitted

    def children(self, node: int) -> Sequence[int]:
        children: Sequence[int] = self._nodes[node][-1]
        return children

    def key(self, node: int, name: str) -> int:
        _, keys, children = self._nodes[node]
        number: int = children[keys.index(name)]
        return number

    def constant(self, node: int) -> Any:
        kind, value, *_ = self._nodes[node]
        return value if kind == CONSTANT else None

    def polynomial(self, node: int) -> Polynomial:
        kind, value, *_ = self._nodes[node]
        return self._fitted[value] if kind == NUMBER else constant(value)

    def executed_operations(self, cost: int) -> dict[tuple[int, int], int]:
        """Return operations with their counts in a module, and the number of modules that have them."""
        found: dict[tuple[int, int], int] = {}
        for module in self.children(self.key(cost, "modules")):
            for pair in self.children(self.children(module)[3]):
                op, count = self.children(pair)
                found[op, count] = found.get((op, count), 0) + 1
        return found

    def calls(self, node: int, times: Polynomial) -> dict[int, Polynomial]:
        """Return the number of calls of each cost, by its number."""
        found: dict[int, Polynomial] = {}
        for child in self.children(node):
            parts = self.children(child)
            if self.constant(parts[0]) == LOOP:
                inner = self.calls(parts[2], multiply(times, self.polynomial(parts[1])))
            else:
                inner = {self.constant(parts[5]): times}
            for number, count in inner.items():
                found[number] = add(found.get(number, {}), count)
        return found

    def attention_macs(self, cost: int) -> Polynomial:
        """Return the MACs of QKᵀ and AV."""
        total: Polynomial = {}
        for row in self.children(self.key(cost, "attention")):
            parts = self.children(row)
            total = add(total, self.polynomial(parts[QK_MACS]), self.polynomial(parts[AV_MACS]))
        return total

    def peaks(self, cost: int) -> list[Polynomial] | None:
        """Return the live bytes after each allocation that can be the peak; None if the length of a loop varies."""
        if not self.constant(self.key(cost, "has_peak")):
            return []
        events = self._unfold(self.key(cost, "events"))
        if events is None:
            return None
        sizes: list[Polynomial] = []
        live: Polynomial = {}
        peaks: dict[tuple[Any, ...], Polynomial] = {}
        falls, age = True, 0
        for event in events:
            kind, value, _ = self.children(event)
            if self.constant(kind) == ALLOCATE:
                sizes.append(self.polynomial(value))
                live = add(live, sizes[-1])
                falls = False
            elif self.constant(kind) in (RELEASE, RELEASE_NEXT):
                change = self.constant(value)
                if change is None:
                    return None
                age = change if self.constant(kind) == RELEASE else age + change
                if not falls:
                    peaks.setdefault(tuple(sorted(live.items())), live)
                live = add(live, negate(sizes[-age]))
                falls = True
        peaks.setdefault(tuple(sorted(live.items())), live)
        return _largest(list(peaks.values()))

    def _unfold(self, node: int) -> list[int] | None:
        events: list[int] = []
        for child in self.children(node):
            parts = self.children(child)
            if self.constant(parts[0]) != LOOP:
                events.append(child)
                continue
            count, body = self.constant(parts[1]), self._unfold(parts[2])
            if count is None or body is None:
                return None
            events += body * count
        return events


def _largest(polynomials: list[Polynomial]) -> list[Polynomial]:
    kept: list[Polynomial] = []
    # Polynomials with the largest leading terms first, so that most others are found to be smaller at once.
    for one in sorted(polynomials, key=lambda p: -sum(map(float, p.values()))):
        if not any(is_dominated(one, other) for other in kept):
            kept.append(one)
    return kept
