"""Polynomials with exact coefficients."""

from __future__ import annotations

from fractions import Fraction

from diffprof.laws.polynomials import (
    ONE,
    PolynomialTable,
    add,
    constant,
    is_dominated,
    monomial_value,
    multiply,
    negate,
)

X, Y = ((("x", 1),), (("y", 1),))
X_PLUS_1 = {X: Fraction(1), ONE: Fraction(1)}
X_MINUS_1 = {X: Fraction(1), ONE: Fraction(-1)}


def test_products_and_sums_lose_the_terms_that_cancel() -> None:
    assert multiply(X_PLUS_1, X_MINUS_1) == {(("x", 2),): 1, ONE: -1}
    assert add(X_PLUS_1, negate(X_PLUS_1)) == {} == constant(0)


def test_variables_of_a_product_are_in_order() -> None:
    assert multiply({Y: Fraction(2)}, {X: Fraction(3)}) == {(("x", 1), ("y", 1)): 6}


def test_the_value_of_a_monomial_is_the_product_of_its_powers() -> None:
    assert monomial_value((("x", 2), ("y", 1)), {"x": 3, "y": 5}) == 45
    assert monomial_value(ONE, {}) == 1


def test_a_polynomial_is_dominated_if_no_coefficient_is_larger() -> None:
    assert is_dominated(X_MINUS_1, X_PLUS_1) and not is_dominated(X_PLUS_1, X_MINUS_1)
    assert not is_dominated({X: Fraction(1)}, {Y: Fraction(9)})


def test_a_table_gives_back_what_was_packed() -> None:
    polynomials = [{X: Fraction(1, 3), ONE: Fraction(-5, 2)}, {}, X_PLUS_1]
    table = PolynomialTable.pack(polynomials)
    assert [table.polynomial(number) for number in range(3)] == polynomials
    assert set(table.monomials) == {ONE, X}  # shared by all
    assert table.rows[0][0] == 6  # the common denominator
