"""The part of a cost that is the same for all requests, computed once from the template of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diffprof.laws.events import RELEASE_NEXT
from diffprof.laws.folding import LOOP, NegativeCount
from diffprof.laws.polynomials import PolynomialTable
from diffprof.laws.templates import CONSTANT, Template
from diffprof.record.allocations import RELEASE, compressed_order
from diffprof.record.profile import Cost

Fill = Callable[[int], Any]
"""Returns the value of a node for one request."""


@dataclass(frozen=True)
class EventSequence:
    """Allocation events in order, as numbers of symbols; only their sizes depend on the request."""

    symbols: Sequence[Any]
    """In the order of first occurrence: the node of an event, or an event without a node."""
    numbers: Sequence[int]
    orders: dict[tuple[int | None, ...], tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def order(self, places: tuple[int | None, ...], known: int) -> tuple[int, ...]:
        """Return the order of `Allocations` in which the symbols have these places among the `known` events.

        Symbols with equal events have the same place; the place is None if nothing is recorded.
        """
        order = self.orders.get(places)
        if order is None:
            numbers = [place for number in self.numbers if (place := places[number]) is not None]
            order = self.orders[places] = compressed_order(numbers, known)
        return order


MAX_REMEMBERED = 3
"""The number of costs to keep: advice evaluates a size, several images of it, and then the size again."""


class CostStructure:
    """The nodes of one cost."""

    def __init__(self, template: Template, node: int) -> None:
        self._template = template
        _, keys, children = template.nodes[node]
        self.parts: dict[str, int] = dict(zip(keys, children, strict=True))
        self._latest: dict[tuple[int, ...], Cost] = {}
        """The latest costs, by the values of `variables`."""
        self._variables: tuple[str, ...] | None = None
        self._module_names: list[tuple[str, str, int]] | None = None
        self._called_modules: list[tuple[str, int]] | None = None
        self._sequences: dict[tuple[int, ...], EventSequence] = {}

    def remember(self, values: tuple[int, ...], make: Callable[[], Cost]) -> Cost:
        """Return the cost for these values of the variables; a recent one is reused."""
        cost = self._latest.get(values)
        if cost is None:
            if len(self._latest) == MAX_REMEMBERED:
                del self._latest[next(iter(self._latest))]
            cost = self._latest[values] = make()
        return cost

    def variables(self, table: PolynomialTable) -> tuple[str, ...]:
        """Return the variables that the cost depends on; none if it is the same for every request."""
        if self._variables is None:
            numbers = self._template.numbers_below(self.parts.values())
            terms = {row[i] for row in map(table.rows.__getitem__, numbers) for i in range(1, len(row), 2)}
            self._variables = tuple(sorted({name for term in terms for name, _ in table.monomials[term]}))
        return self._variables

    def children(self, node: int) -> Sequence[int]:
        children: Sequence[int] = self._template.nodes[node][1]
        return children

    def _constant(self, node: int) -> Any:
        kind, value, *_ = self._template.nodes[node]
        return value if kind == CONSTANT else None

    @cached_property
    def modules(self) -> list[Sequence[int]]:
        """The nodes of path, class, number of calls and operations of each module."""
        return [self.children(module) for module in self.children(self.parts["modules"])]

    def module_names(self, fill: Fill) -> list[tuple[str, str, int]]:
        """Return path, class and number of calls of each module; computed once if they are constant."""
        if self._module_names is not None:
            return self._module_names
        names = [(fill(path), fill(class_name), fill(calls)) for path, class_name, calls, _ in self.modules]
        if all(max(module[:3]) < self._template.constants for module in self.modules):
            self._module_names = names
        return names

    def called_modules(self, fill: Fill) -> list[tuple[str, int]]:
        """Return path and number of calls of each module, in the same way."""
        if self._called_modules is not None:
            return self._called_modules
        called = [(path, calls) for path, _, calls in self.module_names(fill)]
        if self._module_names is not None:
            self._called_modules = called
        return called

    @cached_property
    def operations(self) -> dict[tuple[int, int], int]:
        """Return operations with their counts in a module, and the number of modules that have them."""
        found: dict[tuple[int, int], int] = {}
        for *_, operations in self.modules:
            for pair in self.children(operations):
                op, count = self.children(pair)
                found[op, count] = found.get((op, count), 0) + 1
        return found

    def sequence(self, fill: Fill) -> EventSequence:
        """Return the events in order; requests with the same repetitions and releases share one sequence."""
        key = tuple([fill(node) for node in self._deciding_nodes])
        if key not in self._sequences:
            self._sequences[key] = self._unfold(fill)
        return self._sequences[key]

    @cached_property
    def _deciding_nodes(self) -> list[int]:
        """Return the nodes of numbers that differ between requests and determine the order of the events."""
        found: dict[int, None] = {}

        def visit(node: int) -> None:
            for child in self.children(node):
                if child >= self._template.constants:
                    first, second, third = self.children(child)
                    kind = self._constant(first)
                    if kind == LOOP:
                        visit(third)
                    if kind in (LOOP, RELEASE, RELEASE_NEXT) and second >= self._template.constants:
                        found[second] = None

        visit(self.parts["events"])
        return list(found)

    def _unfold(self, fill: Fill) -> EventSequence:
        unfolding = _Unfolding()
        self._unfold_below(self.parts["events"], fill, unfolding)
        return EventSequence(list(unfolding.symbols), unfolding.numbers)

    def _unfold_below(self, node: int, fill: Fill, unfolding: _Unfolding) -> None:
        """Add the events of a node."""
        symbols, numbers = unfolding.symbols, unfolding.numbers
        for child in self.children(node):
            number = symbols.get(child)
            if number is not None:  # there are few distinct events among many
                numbers.append(number)
                continue
            first, second, third = self.children(child)
            kind = self._constant(first)
            if kind == LOOP:
                self._unfold_loop(fill(second), third, fill, unfolding)
            elif kind in (RELEASE, RELEASE_NEXT):
                unfolding.release(fill(second), fill(third), kind == RELEASE_NEXT)
            else:
                unfolding.add(child)

    def _unfold_loop(self, times: int, body: int, fill: Fill, unfolding: _Unfolding) -> None:
        if times < 0:
            raise NegativeCount("something would be repeated less than 0 times")
        if self._continues_releases(body):  # with other ages each time
            for _ in range(times):
                self._unfold_below(body, fill, unfolding)
        elif times:
            start = len(unfolding.numbers)
            self._unfold_below(body, fill, unfolding)
            unfolding.numbers += unfolding.numbers[start:] * (times - 1)

    def _continues_releases(self, node: int) -> bool:
        """Whether the events of a node may begin with a release right after another one."""
        for child in self.children(node):
            first, _, body = self.children(child)
            kind = self._constant(first)
            if kind != LOOP:
                return bool(kind == RELEASE_NEXT)
            if self._continues_releases(body):
                return True
        return False


class _Unfolding:
    """Events in order, as they are unfolded."""

    def __init__(self) -> None:
        self.symbols: dict[Any, int] = {}
        self.numbers: list[int] = []
        self._age = 0
        """Of the latest release."""

    def add(self, symbol: Any) -> None:
        self.numbers.append(self.symbols.setdefault(symbol, len(self.symbols)))

    def release(self, value: int, step: int, is_next: bool) -> None:
        """Add a release; right after another one, its value is the difference of their ages."""
        self._age = self._age + value if is_next else value
        self.add((RELEASE, self._age, step))
