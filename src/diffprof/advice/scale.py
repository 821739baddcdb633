"""Show how the cost of a model grows with size, steps and prompt, from its law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2

from diffprof.catalogue.names import Place, resolve
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.request_profile import count_request
from diffprof.errors import PipelineError, RequestError
from diffprof.laws.law import Law
from diffprof.laws.law_file import packaged_law
from diffprof.laws.polynomials import Monomial, Polynomial, add, multiply
from diffprof.laws.programs import OutsideOfLaw, Program
from diffprof.laws.selection import can_count, refusal
from diffprof.laws.variables import Variable
from diffprof.record.display import Displayed
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.record.request import Request

CURVE_SIDES = (256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048)
COUNTED_SIDES = (512, 768, 1024, 1536)
"""Only a few sizes, because each takes a second or more."""
HALF = 0.5
NUMBERS = ("height", "width", "num_frames", "num_images_per_prompt", "num_inference_steps")
STEPS = "num_inference_steps"
USUAL_STEPS = (1, 4, 10, 20, 30, 50, 100)


@dataclass(frozen=True)
class ComponentLaw:
    """The MACs of one component in one generation, as a polynomial."""

    component: str
    macs: Polynomial
    calls: Polynomial
    attention_macs: Polynomial


@dataclass(frozen=True)
class CurvePoint:
    """The cost of a generation at one size."""

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
class FramesPoint:
    """The cost of a video of one length."""

    frames: int
    macs: int
    attention_macs: int

    @property
    def attention_share(self) -> float:
        return self.attention_macs / self.macs if self.macs else 0.0


@dataclass(frozen=True)
class StepsPoint:
    """The cost of a generation with one number of steps."""

    steps: int
    macs: int


@dataclass(frozen=True, repr=False)
class Scaling(Displayed):
    """How the cost of a model grows around one request."""

    model: str
    request: Mapping[str, int]
    """The numbers of the request."""
    components: tuple[ComponentLaw, ...]
    variables: tuple[Variable, ...]
    curve: tuple[CurvePoint, ...]
    """Square sizes for which the law was proved; empty if the model has no height and width."""
    doubled: Mapping[str, float]
    """The factor by which the MACs grow if a number is doubled, for each number for which that was proved."""
    half_attention_side: int | None
    """The smallest square of the curve in which attention is more than half of the MACs."""
    domain: Mapping[str, str]
    versions: Mapping[str, str]
    frames: tuple[FramesPoint, ...] = ()
    """Lengths of a video at the requested size for which the law was proved."""
    steps: tuple[StepsPoint, ...] = ()
    """Numbers of steps, with everything else as requested."""
    counted_because: str | None = None
    """Why there is no formula, and the curve was counted instead."""

    def __repr__(self) -> str:
        return f"<Scaling of {self.model}: {len(self.curve)} sizes, {len(self.steps)} numbers of steps>"

    @property
    def resolution_power(self) -> float | None:
        """The exponent with which the MACs grow with the side, between the two largest squares of the curve."""
        if len(self.curve) < 2:
            return None
        small, large = self.curve[-2:]
        return log2(large.macs / small.macs) / log2(large.height / small.height)


def scale_model(request: Request, progress: Progress | None = None) -> Scaling:
    """Show how the cost of a model grows around a request; without a proved law, a few sizes are counted."""
    resolved = resolve(request.model)
    law = packaged_law(resolved.name) if resolved.place is Place.catalogue else None
    complete = add_recommended(request)
    try:
        if law is None or request.count:
            raise OutsideOfLaw(f"no law of {request.model} {'was asked for' if law else 'was proved'}")
        program, numbers = law.program(complete)
    except OutsideOfLaw as error:
        if not can_count():
            raise refusal(error) from None
        return _scale_by_counting(request, str(error), progress)
    curve = tuple(_curve(law, complete))
    return Scaling(
        model=law.model,
        request=numbers,
        components=tuple(_components(program)),
        variables=program.variables,
        curve=curve,
        doubled=_factors_when_doubled(law, complete, numbers),
        half_attention_side=_half_attention_side(curve),
        domain={_argument(law, name): " or ".join(found) for name, found in law.proved_values().items()},
        versions=law.versions,
        frames=tuple(_frames(law, complete, numbers)),
        steps=tuple(_steps(law, complete, numbers)),
    )


def _argument(law: Law, number: str) -> str:
    """The call argument for a number of the law."""
    return number if number == "tokens" else law.sources.get(number, number)


def _half_attention_side(curve: Sequence[CurvePoint]) -> int | None:
    return next((point.height for point in curve if point.attention_share > HALF), None)


def _scale_by_counting(request: Request, reason: str, progress: Progress | None) -> Scaling:
    """The curve of a model, counted at a few squares and at twice the steps."""
    profile = count_request(request, progress=progress)
    used = {name: profile.request.value(name) for name in NUMBERS}
    numbers = {name: value for name, value in used.items() if isinstance(value, int)}
    curve = []
    for side in COUNTED_SIDES if {"height", "width"} <= set(numbers) else ():
        point = _count_with(request, {"height": side, "width": side}, progress)
        if point is not None:
            curve.append(_point_of(point, side))
    changes = {STEPS: {STEPS: 2 * numbers[STEPS]}} if STEPS in numbers else {}
    if {"height", "width"} <= set(numbers):
        changes["height and width"] = {side: 2 * numbers[side] for side in ("height", "width")}
    counted = {name: _count_with(request, change, progress) for name, change in changes.items()}
    doubled = {name: twice.total.macs / profile.total.macs for name, twice in counted.items() if twice is not None}
    points = {numbers[STEPS]: profile, 2 * numbers[STEPS]: counted[STEPS]} if STEPS in numbers else {}
    environment = profile.environment
    return Scaling(
        model=profile.request.model,
        request=numbers,
        components=(),
        variables=(),
        curve=tuple(curve),
        doubled=doubled,
        half_attention_side=_half_attention_side(curve),
        domain={},
        versions={name: getattr(environment, name) or "" for name in ("torch", "diffusers", "transformers")},
        steps=tuple(StepsPoint(steps, one.total.macs) for steps, one in points.items() if one is not None),
        counted_because=reason,
    )


def _count_with(request: Request, arguments: Mapping[str, int], progress: Progress | None) -> Profile | None:
    """Count with other arguments; None if the pipeline does not accept them."""
    try:
        return count_request(request.with_arguments(arguments), progress=progress)
    except (PipelineError, RequestError):
        return None


def _point_of(profile: Profile, side: int) -> CurvePoint:
    attention = sum(part.qk_macs + part.av_macs for call in profile.calls for part in call.cost.attention)
    peak = max(component.peak_live_bytes for component in profile)
    return CurvePoint(side, side, profile.total.macs, attention, profile.steps.macs, peak)


def _frames(law: Law, request: Request, numbers: Mapping[str, int]) -> Iterator[FramesPoint]:
    """The limits of the proved range, the requested length, and lengths in between."""
    if "num_frames" not in numbers:
        return
    tried = {numbers["num_frames"]}
    for bounds in {domain.ranges["num_frames"] for domain in law.domains}:
        count = (bounds.most - bounds.least) // bounds.multiple
        tried |= {bounds.least + bounds.multiple * (count * part // 5) for part in range(6)}
    for frames in sorted(tried):
        changed = request.with_arguments({law.sources["num_frames"]: frames})
        try:
            filled = law.fill(changed)
        except OutsideOfLaw:
            continue
        macs = sum(cost.work.macs * cost.calls for cost in filled.costs)
        yield FramesPoint(frames, macs, sum(cost.attention_macs * cost.calls for cost in filled.costs))


def _steps(law: Law, request: Request, numbers: Mapping[str, int]) -> Iterator[StepsPoint]:
    """Common numbers of steps and the requested one, if the law was proved for them."""
    if STEPS not in numbers:
        return
    for steps in sorted({*USUAL_STEPS, numbers[STEPS]}):
        macs = _total_macs(law, request, {**numbers, STEPS: steps})
        if macs is not None:
            yield StepsPoint(steps, macs)


def _components(program: Program) -> Sequence[ComponentLaw]:
    """The laws of the components, in the order of their first calls."""
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
    """A point of the curve; None if the law was not proved there."""
    try:
        profile = law.profile(request)
    except OutsideOfLaw:
        return None
    filled = law.fill(request)
    attention = sum(cost.attention_macs * cost.calls for cost in filled.costs)
    peak = max(component.peak_live_bytes for component in profile)
    return CurvePoint(side, side, profile.total.macs, attention, profile.steps.macs, peak)


def _factors_when_doubled(law: Law, request: Request, numbers: Mapping[str, int]) -> dict[str, float]:
    now = law.profile(request).total.macs
    changes: dict[str, dict[str, int]] = {source: {source: 2 * number} for source, number in numbers.items()}
    if {"height", "width"} <= set(numbers):
        changes["height and width"] = {side: 2 * numbers[side] for side in ("height", "width")}
    found = {name: _total_macs(law, request, {**numbers, **change}) for name, change in changes.items()}
    return {name: macs / now for name, macs in found.items() if macs is not None}


def _total_macs(law: Law, request: Request, numbers: Mapping[str, int]) -> int | None:
    try:
        return law.profile(request.with_arguments(law.arguments(numbers))).total.macs
    except OutsideOfLaw:
        return None


def simplify(polynomial: Polynomial, variables: Sequence[Variable]) -> dict[Monomial, Fraction]:
    """The polynomial for sizes that divide evenly, in terms of the numbers themselves."""
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
