"""A program filled in for a request."""

from __future__ import annotations

from fractions import Fraction

import pytest

from diffprof.laws.polynomials import PolynomialTable
from diffprof.laws.programs import OutsideOfLaw, Values
from tests.laws.small_program import program_values, small_program

UNSEEN = {"height": 200, "width": 168, "num_inference_steps": 11}


def test_every_part_is_that_of_the_pipeline_for_a_request_that_was_no_sample() -> None:
    filled = small_program().at(UNSEEN)
    for name, value in program_values(**UNSEEN).items():
        assert filled.part(name) == value


def test_what_all_requests_have_in_common_needs_no_numbers() -> None:
    assert small_program().cost_calls == [("transformer", "forward"), ("pipeline", "__call__")]
    assert small_program().dtypes == {"float16"}


def test_a_number_that_would_not_be_whole_is_outside_of_the_law() -> None:
    table = PolynomialTable.pack([{(("x", 1),): Fraction(1, 2)}])
    assert Values(table, {"x": 6})[0] == 3
    with pytest.raises(OutsideOfLaw, match="not whole"):
        Values(table, {"x": 7})[0]


def test_a_constant_is_made_once_for_all_requests() -> None:
    made = []
    for steps in (3, 4):
        filled = small_program().at({**UNSEEN, "num_inference_steps": steps})
        made.append(filled.once(filled.part("texts"), lambda value: [*value]))
    assert made[0] is made[1]
