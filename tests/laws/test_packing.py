"""A program is fitted to samples, and its sums are the closed forms of the made-up pipeline."""

from __future__ import annotations

import pytest

from diffprof.laws.packing import NoLaw, fit_program, pack_programs
from diffprof.laws.polynomials import Polynomial
from diffprof.laws.templates import DifferentForms
from tests.laws.small_program import FITTER, SAMPLES, VARIABLES, program_values, small_fitted, small_program

H, W, STEPS = ("floor(height/8)", 1), ("floor(width/8)", 1), ("num_inference_steps", 1)
TOKENS = (H, W)
SQUARE = (("floor(height/8)", 2), ("floor(width/8)", 2))


def polynomial(number: int) -> Polynomial:
    return small_program().table.polynomial(number)


def test_the_sums_of_a_call_are_polynomials_of_the_request() -> None:
    denoiser, _ = small_program().sums
    macs, other, read, written = map(polynomial, denoiser.work)
    assert macs == {TOKENS: 4 * 16}
    assert other == {}
    assert read == {(): 4 * 32, TOKENS: 4 * 8 + 8}
    assert written == {TOKENS: 4 * 8 + 8}


def test_what_has_no_formula_is_kept_apart() -> None:
    denoiser, _ = small_program().sums
    assert polynomial(denoiser.executed_ops) == {(): 5}
    assert polynomial(denoiser.known_ops) == {(): 4}
    assert polynomial(denoiser.known_bytes) == {(): 4 * 32, TOKENS: 4 * 16}
    assert {name: polynomial(number) for name, number in denoiser.unknown.items()} == {"fancy": {(): 1}}


def test_attention_and_the_number_of_calls_are_known_for_each_cost() -> None:
    denoiser, own = small_program().sums
    assert polynomial(denoiser.attention_macs) == {SQUARE: 2 * 8}
    assert (polynomial(denoiser.calls), polynomial(own.calls)) == ({(STEPS,): 1}, {(): 1})


def test_the_peak_is_the_largest_of_the_sums_that_none_exceeds_everywhere() -> None:
    denoiser, own = small_program().sums
    assert denoiser.peaks is not None
    assert [polynomial(peak) for peak in denoiser.peaks] == [{TOKENS: 16, (): 1024}, {TOKENS: 24}]
    assert own.peaks == ()


def test_programs_that_are_packed_together_share_their_parts() -> None:
    one, other = pack_programs([small_fitted(), small_fitted()])
    assert one.template is other.template and one.table is other.table
    assert one.root == other.root
    assert one.variables == VARIABLES


def test_a_number_that_follows_no_polynomial_is_named() -> None:
    values = [{**program_values(**sample), "texts": (2 ** sample["height"],)} for sample in SAMPLES]
    with pytest.raises(NoLaw, match=r"\.texts\.0 follows no polynomial"):
        fit_program(values, FITTER)


def test_samples_of_different_programs_are_refused() -> None:
    values = [{**program_values(**sample), "texts": ((),) * (sample["height"] // 8)} for sample in SAMPLES]
    with pytest.raises(DifferentForms, match=r"\.texts: lengths"):
        fit_program(values, FITTER)
