"""Integer-valued polynomials with rational coefficients in a few integer variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod

Monomial = tuple[tuple[str, int], ...]
"""Names and powers of variables, sorted by name; empty for 1."""

Polynomial = Mapping[Monomial, Fraction]
"""The nonzero coefficients, by monomial."""

ONE: Monomial = ()


def constant(value: int) -> dict[Monomial, Fraction]:
    return {ONE: Fraction(value)} if value else {}


def add(*terms: Polynomial) -> dict[Monomial, Fraction]:
    total: dict[Monomial, Fraction] = {}
    for term in terms:
        for monomial, coefficient in term.items():
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def multiply(one: Polynomial, other: Polynomial) -> dict[Monomial, Fraction]:
    total: dict[Monomial, Fraction] = {}
    for left, a in one.items():
        for right, b in other.items():
            monomial = multiply_monomials(left, right)
            total[monomial] = total.get(monomial, Fraction(0)) + a * b
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def negate(one: Polynomial) -> dict[Monomial, Fraction]:
    return {monomial: -coefficient for monomial, coefficient in one.items()}


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def monomial_value(monomial: Monomial, values: Mapping[str, int]) -> int:
    return prod(values[name] ** power for name, power in monomial)


def is_dominated(one: Polynomial, other: Polynomial) -> bool:
    """Whether `other` is at least as large for all nonnegative variables."""
    return all(coefficient >= 0 for coefficient in add(other, negate(one)).values())


class PolynomialTable:
    """Many polynomials over few monomials, evaluated together."""

    def __init__(self, monomials: Sequence[Monomial], rows: Sequence[Sequence[int]]) -> None:
        self.monomials = monomials
        self.rows = rows
        """For each polynomial: the denominator, then alternating numbers of monomials and numerators."""

    @classmethod
    def pack(cls, polynomials: Iterable[Polynomial]) -> PolynomialTable:
        numbers: dict[Monomial, int] = {}
        rows = []
        for polynomial in polynomials:
            denominator = lcm(*(coefficient.denominator for coefficient in polynomial.values()))
            row = [denominator]
            for monomial, coefficient in sorted(polynomial.items()):
                row += [numbers.setdefault(monomial, len(numbers)), int(coefficient * denominator)]
            rows.append(row)
        return cls(list(numbers), rows)

    def polynomial(self, number: int) -> dict[Monomial, Fraction]:
        row = self.rows[number]
        return {self.monomials[row[i]]: Fraction(row[i + 1], row[0]) for i in range(1, len(row), 2)}
