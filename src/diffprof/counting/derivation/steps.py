"""Find the numbers of steps that one program covers, at the default size, where only the steps differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from diffprof.counting.derivation.forms import Forms
from diffprof.counting.derivation.ranges import MAX_STEPS, SINGLE_STEPS, STEP_BASES, STEPS_TO_PROVE
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import Fitter
from diffprof.laws.law import Range
from diffprof.laws.packing import FittedProgram, fit_program
from diffprof.laws.polynomials import monomial_value
from diffprof.laws.templates import Template
from diffprof.laws.variables import Variable

STEPS = "num_inference_steps"
ENOUGH = 4
"""The fewest numbers of steps to try a common program for."""
MAX_BELOW = 12
"""The maximum number of step counts below a program's range that get their own programs."""


@dataclass(frozen=True)
class StepGroup:
    """Numbers of steps that one program covers."""

    samples: tuple[int, ...]
    """The numbers of steps that the program is derived from; one if each has its own program."""
    ranges: tuple[Range, ...]


class StepGroups:
    """Finds groups of step counts; `values_of` counts the default call with another number of steps."""

    def __init__(self, values_of: Callable[[int], Any], default: int) -> None:
        self._values_of = values_of
        self._default = default
        self._known: dict[int, Any] = {}
        self._forms = Forms()

    def find(self) -> list[StepGroup]:
        """Return the groups, with that of the default number first."""
        groups = self._groups_of_bases() or self._groups_of_forms()
        return sorted(groups, key=lambda group: not any(self._default in bounds for bounds in group.ranges))

    def _values(self, number: int) -> Any:
        """Return the values for a number of steps; None if the pipeline refuses it."""
        if number not in self._known:
            try:
                self._known[number] = self._values_of(number)
            except DiffprofError:
                self._known[number] = None
        return self._known[number]

    def _groups_of_bases(self) -> list[StepGroup]:
        """Return a group for all numbers from some on; if few are smaller, each of those gets its own group."""
        groups: list[StepGroup] = []
        for samples in STEP_BASES:
            fitted = self._fit(samples)
            if fitted is None:
                continue
            tried = [n for n in {*STEPS_TO_PROVE, self._default} if not any(n in r for g in groups for r in g.ranges)]
            bounds = self._proved_range(fitted, samples, tried)
            groups.append(StepGroup(tuple(samples), (bounds,)))
            if bounds.most == MAX_STEPS:
                break
        if not groups or groups[-1].ranges[0].most < MAX_STEPS:
            return []
        covered = [bounds for group in groups for bounds in group.ranges]
        least = min(bounds.least for bounds in covered)
        missing = [n for n in {*range(1, min(least, MAX_BELOW)), self._default} if not any(n in r for r in covered)]
        return groups + [_single(number) for number in missing if self._values(number) is not None]

    def _proved_range(self, fitted: FittedProgram, samples: Sequence[int], tried: Iterable[int]) -> Range:
        least, most = min(samples), max(samples)
        for number in sorted((n for n in tried if n < least), reverse=True):
            if not self._holds(fitted, number):
                break
            least = number
        for number in sorted(n for n in tried if n > most):
            if not self._holds(fitted, number):
                return Range(least, most)
            most = number
        return Range(least, MAX_STEPS)

    def _groups_of_forms(self) -> list[StepGroup]:
        """Group numbers that one program covers; each of the others gets its own group."""
        numbers = [n for n in sorted({*SINGLE_STEPS, self._default}) if self._values(n) is not None]
        by_form: dict[int, list[int]] = {}
        for number in numbers:
            by_form.setdefault(self._forms.form(self._values(number)), []).append(number)
        groups: list[StepGroup] = []
        for members in by_form.values():
            samples = members[:: max(1, len(members) // ENOUGH)]
            fitted = self._fit(samples) if len(members) > ENOUGH else None
            if fitted is not None and all(self._holds(fitted, number) for number in members):
                groups.append(StepGroup(tuple(samples), tuple(_ranges(members))))
            else:
                groups += [_single(number) for number in members]
        return groups

    def _fit(self, samples: Sequence[int]) -> FittedProgram | None:
        values = [self._values(number) for number in samples]
        if any(value is None for value in values) or len({self._forms.form(value) for value in values}) > 1:
            return None
        fitter = Fitter([{STEPS: n} for n in samples], {STEPS: range(len(samples))}, [Variable(STEPS)])
        try:
            return fit_program(values, fitter)
        except DiffprofError:
            return None

    def _holds(self, fitted: FittedProgram, number: int) -> bool:
        values = self._values(number)
        return values is not None and bool(values_at(fitted, {STEPS: number}) == values)


def values_at(fitted: FittedProgram, variables: Mapping[str, int]) -> Any:
    """Return the program's values; a fraction never equals a counted value."""
    numbers = [
        sum((part * monomial_value(monomial, variables) for monomial, part in polynomial.items()), Fraction(0))
        for polynomial in fitted.polynomials
    ]
    whole = [int(number) if number.denominator == 1 else number for number in numbers]
    return Template(fitted.nodes, 0).fill(fitted.root, whole, {})


def _single(number: int) -> StepGroup:
    return StepGroup((number,), (Range(number, number),))


def _ranges(numbers: Sequence[int]) -> list[Range]:
    """Combine the numbers into as few ranges as possible."""
    begins = [numbers[0], *(after for before, after in pairwise(numbers) if after != before + 1)]
    ends = [*(before for before, after in pairwise(numbers) if after != before + 1), numbers[-1]]
    return [Range(begin, end) for begin, end in zip(begins, ends, strict=True)]
