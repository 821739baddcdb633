"""How the cost of a model grows with what can be changed: read off its law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended import add_recommended
from diffprof.errors import RequestError
from diffprof.laws.law import Law
from diffprof.laws.law_file import packaged_law
from diffprof.laws.polynomials import Monomial, Polynomial, add, multiply
from diffprof.laws.programs import OutsideOfLaw, Program
from diffprof.laws.variables import Variable
from diffprof.record.request import Request

CURVE_SIDES = (256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048)
HALF = 0.5


@dataclass(frozen=True)
class ComponentLaw:
    """The MACs of one component in one generation, as a polynomial."""

    component: str
    macs: Polynomial
    calls: Polynomial
    attention_macs: Polynomial


@dataclass(frozen=True)
class CurvePoint:
    """What a generation of one size costs."""

    height: int
    width: int
    macs: int
    attention_macs: int
    step_macs: int
    peak_live_bytes: int

    @property
    def attention_share(self) -> float:
        return self.attention_macs / self.macs if self.macs else 0.0


@dataclass(frozen=True)
class Scaling:
    """The law of a model around one request."""

    model: str
    request: Mapping[str, int]
    """The numbers of the request."""
    components: tuple[ComponentLaw, ...]
    variables: tuple[Variable, ...]
    curve: tuple[CurvePoint, ...]
    """Squares, where the law was proved; empty where the model has no height and width."""
    doubled: Mapping[str, float]
    """For each number that can be doubled within what was proved: by how much the MACs grow."""
    half_attention_side: int | None
    """The smallest square of the curve in which attention is more than half of the MACs."""
    domain: Mapping[str, str]
    versions: Mapping[str, str]

    @property
    def resolution_power(self) -> float | None:
        """The power of the side that the MACs grow with, between the two largest squares of the curve."""
        if len(self.curve) < 2:
            return None
        small, large = self.curve[-2:]
        return log2(large.macs / small.macs) / log2(large.height / small.height)


def scale_model(request: Request) -> Scaling:
    """How the cost of the model grows around a request; refused where no law of it was proved for the request."""
    resolved = resolve(request.model)
    law = packaged_law(resolved.name)
    if law is None:
        raise RequestError(f"No law of {request.model} was proved; `diffprof profile` counts it at any size.")
    complete = add_recommended(request)
    try:
        program, numbers = law.program(complete)
    except OutsideOfLaw as error:
        raise RequestError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
    curve = tuple(_curve(law, complete))
    half = next((point.height for point in curve if point.attention_share > HALF), None)
    return Scaling(
        model=law.model,
        request=numbers,
        components=tuple(_components(program)),
        variables=program.variables,
        curve=curve,
        doubled=_doubled(law, complete, numbers),
        half_attention_side=half,
        domain={law.sources.get(name, name): " or ".join(found) for name, found in law.proved().items()},
        versions=law.versions,
    )


def _components(program: Program) -> Sequence[ComponentLaw]:
    """In the order of their first call."""
    found: dict[str, list[Polynomial]] = {}
    for (component, _), sums in zip(program.cost_calls, program.sums, strict=True):
        calls = program.table.polynomial(sums.calls)
        macs = multiply(program.table.polynomial(sums.work[0]), calls)
        attention = multiply(program.table.polynomial(sums.attention_macs), calls)
        before = found.get(component, [{}, {}, {}])
        found[component] = [add(one, more) for one, more in zip(before, (macs, calls, attention), strict=True)]
    return [ComponentLaw(name, *parts) for name, parts in found.items() if parts[0]]


def _curve(law: Law, request: Request) -> Sequence[CurvePoint]:
    if not {"height", "width"} <= set(law.sources):
        return []
    points = [_point(law, request.with_arguments({"height": side, "width": side}), side) for side in CURVE_SIDES]
    return [point for point in points if point is not None]


def _point(law: Law, request: Request, side: int) -> CurvePoint | None:
    """None where the law was not proved."""
    try:
        profile = law.profile(request)
    except OutsideOfLaw:
        return None
    filled = law.filled(request)
    attention = sum(cost.attention_macs * cost.calls for cost in filled.costs)
    peak = max(component.peak_live_bytes for component in profile)
    return CurvePoint(side, side, profile.total.macs, attention, profile.steps.macs, peak)


def _doubled(law: Law, request: Request, numbers: Mapping[str, int]) -> dict[str, float]:
    now = law.profile(request).total.macs
    changes: dict[str, dict[str, int]] = {source: {source: 2 * number} for source, number in numbers.items()}
    if {"height", "width"} <= set(numbers):
        changes["height and width"] = {side: 2 * numbers[side] for side in ("height", "width")}
    found = {name: _total_macs(law, request, {**numbers, **change}) for name, change in changes.items()}
    return {name: macs / now for name, macs in found.items() if macs is not None}


def _total_macs(law: Law, request: Request, numbers: Mapping[str, int]) -> int | None:
    arguments = {law.sources[source]: number for source, number in numbers.items()}
    try:
        return law.profile(request.with_arguments(arguments)).total.macs
    except OutsideOfLaw:
        return None


def simplified(polynomial: Polynomial, variables: Sequence[Variable]) -> dict[Monomial, Fraction]:
    """The polynomial where every division comes out even: in the numbers themselves instead of their parts."""
    known = {variable.name: variable for variable in variables}
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in polynomial.items():
        term: dict[Monomial, Fraction] = {(): coefficient}
        for name, power in monomial:
            variable = known[name]
            part: dict[Monomial, Fraction] = {((variable.source, 1),): Fraction(1, variable.divisor)}
            if variable.offset:
                part[()] = Fraction(variable.offset, variable.divisor)
            for _ in range(power):
                term = multiply(term, part)
        total = add(total, term)
    return total
