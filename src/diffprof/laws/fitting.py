"""Find the polynomial of a number from its values in samples, in exact arithmetic.

Samples are placed around a base: along each axis one source changes, and in a few samples all of them change. Values
along an axis show on which variables a number depends, and in which power; products of those are then fitted to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

from diffprof.laws.polynomials import ONE, Monomial, Polynomial, monomial_value, multiply_monomials
from diffprof.laws.variables import Variable, values_of

SPARE = 2
"""The number of samples that a polynomial must reproduce beyond those that determine it."""

SIDES = ("height", "width")

Basis = tuple[Monomial, ...]


class Fitter:
    """Fits polynomials to the values of numbers in these samples."""

    def __init__(
        self, samples: Sequence[Mapping[str, int]], axes: Mapping[str, Sequence[int]], variables: Sequence[Variable]
    ) -> None:
        self.samples = [values_of(variables, sample) for sample in samples]
        self.axes = axes
        """For each source, the numbers of the samples in which only this source differs."""
        self.variables = variables
        self._solvers: dict[tuple[Basis, tuple[int, ...]], _Solver | None] = {}

    def fit(self, vector: Sequence[int]) -> Polynomial | None:
        """Return the polynomial with these values; None if none of the supported ones has them."""
        parts: list[list[Basis]] = []
        sources: list[str] = []
        for source, places in self.axes.items():
            if len({vector[place] for place in places}) > 1:
                found = list(self._along_axis(source, places, vector))
                if not found:
                    return None
                parts.append(found)
                sources.append(source)
        everywhere = tuple(range(len(self.samples)))
        sides = [source in SIDES for source in sources]
        for choice in product(*parts):
            for basis in _products(choice, sides):
                if len(basis) + SPARE <= len(self.samples):
                    solved = self._solve(basis, everywhere, vector)
                    if solved is not None:
                        return solved
        return None

    def _along_axis(self, source: str, places: Sequence[int], vector: Sequence[int]) -> Iterator[Basis]:
        """Yield the smallest sets of powers of variables that explain the values along an axis."""
        names = [variable.name for variable in self.variables if variable.source == source]
        for size, power in ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 2)):
            found = False
            for chosen in combinations(names, size):
                basis: Basis = (ONE, *(((name, p),) for name in chosen for p in range(1, power + 1)))
                if len(basis) < len(places) and self._solve(basis, tuple(places), vector) is not None:
                    found = True
                    yield basis
            if found:
                return

    def _solve(self, basis: Basis, places: tuple[int, ...], vector: Sequence[int]) -> Polynomial | None:
        key = (basis, places)
        if key not in self._solvers:
            rows = [[monomial_value(monomial, self.samples[place]) for monomial in basis] for place in places]
            self._solvers[key] = _Solver.create(rows)
        solver = self._solvers[key]
        solution = None if solver is None else solver.solve([vector[place] for place in places])
        if solution is None:
            return None
        return {monomial: value for monomial, value in zip(basis, solution, strict=True) if value}


def _products(parts: Sequence[Basis], sides: Sequence[bool] = ()) -> Iterator[Basis]:
    """Yield sets of products of the powers along the axes, small ones first: whole products, then sums, then all.

    `sides` says which axes are powers of height or width.
    """
    if not parts:
        yield (ONE,)
        return
    same_length = len({len(part) for part in parts}) == 1
    if same_length:
        # For example height and width only as a product.
        yield tuple(_multiply(column) for column in zip(*parts, strict=True))
    by_length: dict[int, list[Basis]] = {}
    for part in parts:
        by_length.setdefault(len(part), []).append(part)
    if len(by_length) > 1:
        tied = [tuple(_multiply(column) for column in zip(*group, strict=True)) for group in by_length.values()]
        yield tuple(dict.fromkeys(_multiply(choice) for choice in product(*tied)))
    areas = [part for part, is_side in zip(parts, sides, strict=False) if is_side]
    if len(areas) == 2 and len(parts) > 2 and len(areas[0]) == len(areas[1]):
        # Height and width as a product, and each of the others by itself.
        area = tuple(_multiply(column) for column in zip(*areas, strict=True))
        others = [part for part, is_side in zip(parts, sides, strict=True) if not is_side]
        yield tuple(dict.fromkeys(_multiply(choice) for choice in product(area, *others)))
    yield tuple(dict.fromkeys(_multiply(choice) for choice in product(*parts)))


def _multiply(monomials: Sequence[Monomial]) -> Monomial:
    total = ONE
    for monomial in monomials:
        total = multiply_monomials(total, monomial)
    return total


class _Solver:
    """The equations of one basis, prepared for many right-hand sides."""

    def __init__(self, rows: list[list[int]], chosen: list[int], inverse: list[list[Fraction]]) -> None:
        self.rows = rows
        self.chosen = chosen
        self.inverse = inverse

    @classmethod
    def create(cls, rows: list[list[int]]) -> _Solver | None:
        """Prepare the equations; None if the samples do not determine the coefficients."""
        size = len(rows[0])
        chosen: list[int] = []
        reduced: list[tuple[int, list[Fraction]]] = []
        for number, row in enumerate(rows):
            rest = [Fraction(value) for value in row]
            for pivot, other in reduced:
                if rest[pivot]:
                    factor = rest[pivot]
                    rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
            pivot = next((place for place, value in enumerate(rest) if value), -1)
            if pivot >= 0:
                reduced.append((pivot, [value / rest[pivot] for value in rest]))
                chosen.append(number)
            if len(chosen) == size:
                return cls(rows, chosen, _inverse([rows[number] for number in chosen]))
        return None

    def solve(self, values: Sequence[int]) -> list[Fraction] | None:
        """Return the coefficients; None if they do not reproduce all values."""
        right = [values[number] for number in self.chosen]
        solution = [sum((a * b for a, b in zip(row, right, strict=True)), Fraction(0)) for row in self.inverse]
        for row, value in zip(self.rows, values, strict=True):
            if sum(a * b for a, b in zip(solution, row, strict=True)) != value:
                return None
        return solution


def _inverse(matrix: list[list[int]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [
        [Fraction(value) for value in row] + [Fraction(int(i == j)) for j in range(size)]
        for i, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [value / scale for value in rows[column]]
        for other in range(size):
            if other != column and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[size:] for row in rows]
