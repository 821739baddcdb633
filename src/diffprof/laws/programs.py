"""The operations of a pipeline for one kind of call, as a template with numbers; filled in, it gives a `Profile`.

The values of a template follow `counting.derivation.program_values`. They contain every operation of every module, and
are grouped again for each request, exactly as the engine groups them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from diffprof.errors import DiffprofError
from diffprof.laws.cost_structure import CostStructure
from diffprof.laws.costs import CostSums, CostValues
from diffprof.laws.polynomials import PolynomialTable, monomial_value
from diffprof.laws.templates import Template
from diffprof.laws.variables import Variable, values_of


class OutsideOfLaw(DiffprofError):
    """A request that the law does not cover."""


class NoVideo(OutsideOfLaw):
    """Frames were requested from a pipeline that makes images; counting refuses that too."""


@dataclass(frozen=True)
class Program:
    """A template, and the polynomials of its numbers."""

    template: Template
    root: int
    table: PolynomialTable
    variables: tuple[Variable, ...]
    sums: tuple[CostSums, ...]

    @cached_property
    def parts(self) -> dict[str, int]:
        """The nodes of the parts of the program, by name."""
        _, keys, children = self.template.nodes[self.root]
        return dict(zip(keys, children, strict=True))

    @cached_property
    def cost_structures(self) -> list[CostStructure]:
        """The structure of each cost, which is the same for all requests."""
        _, children = self.template.nodes[self.parts["costs"]]
        made = self.template.made
        for node in children:
            if node not in made:
                made[node] = CostStructure(self.template, node)
        return [made[node] for node in children]

    @cached_property
    def cost_calls(self) -> list[tuple[str, str]]:
        """The component and method of each cost."""
        filled = FilledProgram(self, _NO_VALUES)
        return [cost.call for cost in filled.costs]

    @cached_property
    def call_defaults(self) -> dict[str, Any]:
        """The defaults of the pipeline's call, by argument."""
        return dict(FilledProgram(self, _NO_VALUES).part("parameters"))

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """The dtypes that can be requested without changing the count: the model's own, and that of all weights.

        Libraries keep some layers in float32 whether or not the usual dtype is requested.
        """
        filled = FilledProgram(self, _NO_VALUES)
        *_, loaded = filled.part("request")
        dtypes = {dtype for _, _, _, *_, by_dtype, _ in filled.part("components") for dtype, _ in by_dtype}
        return frozenset({loaded, *(dtypes if len(dtypes) == 1 else ())})

    def at(self, numbers: Mapping[str, int]) -> FilledProgram:
        """Fill the program with the numbers of a request."""
        return FilledProgram(self, Values(self.table, values_of(self.variables, numbers)))


class Values:
    """The values of polynomials, computed on demand."""

    def __init__(self, table: PolynomialTable, variables: Mapping[str, int]) -> None:
        self._table = table
        self._variables = variables
        self._terms = [monomial_value(monomial, variables) for monomial in table.monomials]
        self._known: dict[int, int] = {}

    def of_structure(self, structure: CostStructure) -> tuple[int, ...]:
        """Return the values of all variables that a cost depends on."""
        return tuple([self._variables[name] for name in structure.variables(self._table)])

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
    """The values of a program for one request, computed on demand."""

    def __init__(self, program: Program, values: Values) -> None:
        self._program = program
        self._values = values
        self._known: dict[int, Any] = {}

    def part(self, name: str) -> Any:
        return self.fill(self._program.parts[name])

    @cached_property
    def costs(self) -> list[CostValues]:
        """The distinct costs in the order of their first calls; the last is the pipeline's own."""
        found = zip(self._program.cost_structures, self._program.sums, strict=True)
        return [CostValues(self, structure, sums) for structure, sums in found]

    def fill(self, node: int) -> Any:
        return self._program.template.fill(node, self._values, self._known)

    def value(self, number: int) -> int:
        return self._values[number]

    def values_of(self, structure: CostStructure) -> tuple[int, ...]:
        """Return the values that distinguish a cost of this request from those of other requests."""
        return self._values.of_structure(structure)

    def once(self, value: tuple[Any, ...], make: Callable[[tuple[Any, ...]], Any]) -> Any:
        """Compute something once from a constant value, for all programs that share it."""
        results = self._program.template.results
        if id(value) not in results:
            results[id(value)] = (value, make(value))
        return results[id(value)][1]
