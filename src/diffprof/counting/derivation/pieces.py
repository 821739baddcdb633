"""Make one program of a law: fit it to samples of its requests, and prove it on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import torch

from diffprof.counting.derivation.design import few_steps, plan_samples, requests_to_prove
from diffprof.counting.derivation.forms import Forms
from diffprof.counting.derivation.prove import compare_with_sample
from diffprof.counting.derivation.ranges import USUAL_LEAST
from diffprof.counting.derivation.sampling import CountedSample
from diffprof.counting.derivation.steps import STEPS, StepGroup
from diffprof.counting.derivation.subject import Subject
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import SIDES, Fitter
from diffprof.laws.law import Domain, Law, Range, volume
from diffprof.laws.packing import FittedProgram, NoLaw, fit_program, pack_programs
from diffprof.laws.prompts import MIXED_PROMPT, count_tokens


@dataclass(frozen=True)
class Piece:
    """A program, and the requests for which it was proved."""

    fitted: FittedProgram
    domain: Domain
    scale: float | None


@dataclass
class PieceMaker:
    """Makes the pieces for one guidance scale."""

    subject: Subject
    scale: float | None
    prove: int
    forms: Forms = field(default_factory=Forms)
    samples: dict[Any, CountedSample] = field(default_factory=dict)
    proofs: int = 0

    def make(self, domain: Domain, base: Mapping[str, int], steps: StepGroup, cell: int) -> list[Piece]:
        """Fit a program to samples around a base, and prove it for each range of steps; return a piece for each."""
        base = {**base, STEPS: steps.samples[0]} if STEPS in domain.ranges else base
        wide = replace(domain, sizes=())
        if steps.ranges:
            numbers = [number for bounds in steps.ranges for number in (bounds.least, bounds.most)]
            wide = with_range(wide, STEPS, Range(min(numbers), max(numbers)))
        plan = plan_samples(wide, base, steps.samples, cell)
        values: list[Any] = []
        for numbers_of_sample in plan.samples:
            values.append(self.sample(numbers_of_sample).values)
            if self.forms.form(values[-1]) != self.forms.form(values[0]):
                raise NoLaw(f"other operations are executed for {_differences(base, numbers_of_sample)}")
        fitted = fit_program(values, Fitter(plan.samples, plan.axes, plan.variables))
        domains = [with_range(domain, STEPS, bounds) for bounds in steps.ranges] or [domain]
        return self._prove(fitted, domains, base)

    def _prove(self, fitted: FittedProgram, domains: Sequence[Domain], base: Mapping[str, int]) -> list[Piece]:
        """Prove the first domain everywhere, and at the base the others, which differ only in steps."""
        law = law_of(self.subject, [Piece(fitted, domain, self.scale) for domain in domains])
        proved = self._proved_part(law, domains[0], base)
        for domain in domains[1:]:
            self.check(law, self.subject.run({**base, STEPS: domain.ranges[STEPS].least}, self.scale))
        like_first = [replace(proved, ranges={**proved.ranges, STEPS: one.ranges[STEPS]}) for one in domains[1:]]
        return [Piece(fitted, domain, self.scale) for domain in (proved, *like_first)]

    def record(self, domain: Domain, base: Mapping[str, int], steps: StepGroup) -> list[Piece]:
        """Return the counted call at the default size as a piece; a single request needs no fit."""
        (number,) = steps.samples
        numbers = {**base, STEPS: number}
        fitted = fit_program([self.sample(numbers).values], Fitter([{}], {}, []))
        ranges = {source: Range(value, value) for source, value in numbers.items()}
        return [Piece(fitted, replace(domain, ranges=ranges), self.scale)]

    def sample(self, numbers: Mapping[str, int]) -> CountedSample:
        """Return a sample; one that was already taken is reused."""
        key = tuple(sorted(numbers.items()))
        if key not in self.samples:
            self.samples[key] = self.subject.run(numbers, self.scale)
        return self.samples[key]

    def form(self, numbers: Mapping[str, int]) -> int | None:
        """Return the form of the executed operations; None if the pipeline refuses the numbers."""
        try:
            return self.forms.form(self.sample(numbers).values)
        except DiffprofError:
            return None

    def check(self, law: Law, sample: CountedSample) -> None:
        """Refuse the law if it differs from the counted sample."""
        compare_with_sample(law, sample)
        self.proofs += 1

    def _proved_part(self, law: Law, domain: Domain, base: Mapping[str, int]) -> Domain:
        """Return the part of the domain for which the law holds: all of it, or without small sides."""
        try:
            return self._proved_domain(law, domain, base)
        except DiffprofError:
            usual = {side: bounds for side, bounds in domain.ranges.items() if side in SIDES}
            if self.subject.is_video or not any(USUAL_LEAST in bounds for bounds in usual.values()):
                raise
            larger = {side: replace(bounds, least=USUAL_LEAST) for side, bounds in usual.items()}
            return self._proved_domain(law, replace(domain, ranges={**domain.ranges, **larger}), base)

    def _proved_domain(self, law: Law, domain: Domain, base: Mapping[str, int]) -> Domain:
        """Return the domain up to the largest size for which the law holds."""
        few = {STEPS: few_steps(domain)} if STEPS in domain.ranges else {}
        usual = {**base, **(self.subject.default_sides() if domain.sizes else {}), **few}
        held = 0
        for numbers in requests_to_prove(domain, usual, self.prove):
            try:
                self.check(law, self.subject.run(numbers, self.scale))
            except DiffprofError:
                default = self.subject.default_numbers(domain.ranges)
                if held < (volume(default) if domain.contains(default, None, 0) else 1):
                    raise
                return replace(domain, most_volume=held)
            held = volume(numbers)
        self._check_punctuation(law, usual, domain)
        return domain

    def _check_punctuation(self, law: Law, numbers: Mapping[str, int], domain: Domain) -> None:
        """Check that a prompt with punctuation and digits has as many tokens as one with words only."""
        tokens = domain.ranges.get("tokens")
        if tokens is not None and (count_tokens(MIXED_PROMPT) or 0) in tokens:
            arguments = self.subject.arguments(numbers, self.scale) | {self.subject.sources["tokens"]: MIXED_PROMPT}
            self.check(law, self.subject.sampler.run(arguments))


def law_of(subject: Subject, pieces: Sequence[Piece]) -> Law:
    """Assemble the law from these pieces."""
    request = subject.default.profile.request
    variable = {*subject.sources.values(), subject.guidance}
    scale = {} if subject.guidance is None else {subject.guidance: request.value(subject.guidance)}
    return Law(
        model=request.model,
        versions={"torch": torch.__version__, **{name: version(name) for name in ("diffusers", "transformers")}},
        parameters=tuple(subject.parameters),
        sources=dict(subject.sources),
        defaults={**subject.defaults, **scale},
        fixed={name: value for name, value in request.arguments.items() if name not in variable},
        guidance=subject.guidance,
        programs=tuple(pack_programs([piece.fitted for piece in pieces])),
        domains=tuple(piece.domain for piece in pieces),
    )


def with_range(domain: Domain, source: str, bounds: Range) -> Domain:
    """Return the domain with another range for one number."""
    return replace(domain, ranges={**domain.ranges, source: bounds})


def _differences(base: Mapping[str, int], numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number != base[name]}
