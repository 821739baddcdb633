"""Find the prompt lengths that one program covers, at the default size, where only the prompt differs."""

from __future__ import annotations

from diffprof.counting.derivation.design import TOKENS
from diffprof.counting.derivation.pieces import PieceMaker
from diffprof.counting.derivation.steps import values_at
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import Fitter
from diffprof.laws.law import Range
from diffprof.laws.packing import fit_program
from diffprof.laws.prompts import USUAL_TOKENS
from diffprof.laws.variables import Variable

LONGEST = (200, 60, 40, 20)
"""Words of the longest prompt to cover; the first of these for which the law holds is used."""
SOURCE = "tokens"


def proved_tokens(maker: PieceMaker) -> Range:
    """Return the range of prompt tokens that one program covers; at least those of the usual prompt."""
    subject = maker.subject
    usual = Range(USUAL_TOKENS, USUAL_TOKENS)
    if SOURCE not in subject.sources:
        return usual
    numbers = subject.default_numbers(subject.sources)
    try:
        samples = [maker.sample({**numbers, SOURCE: tokens}).values for tokens in TOKENS]
        fitter = Fitter([{SOURCE: n} for n in TOKENS], {SOURCE: range(len(TOKENS))}, [Variable(SOURCE)])
        fitted = fit_program(samples, fitter)
        for most in LONGEST:
            ends = ((tokens, maker.sample({**numbers, SOURCE: tokens}).values) for tokens in (1, most))
            if all(values_at(fitted, {SOURCE: tokens}) == values for tokens, values in ends):
                return Range(1, most)
    except DiffprofError:
        return usual
    return usual
