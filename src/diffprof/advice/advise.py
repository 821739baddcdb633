"""Suggest changes to a generation on an accelerator: options are evaluated on the count and ranked by a goal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffprof.advice.alternatives import (
    Alternative,
    Plan,
    computation_alternatives,
    request_alternatives,
    siblings,
    weight_alternatives,
)
from diffprof.advice.dtypes import dtype_on
from diffprof.advice.evaluating import CLOSE, NEAR, POINTLESS, Evaluated, Evaluator
from diffprof.advice.sizes import parse_memory
from diffprof.advice.sources import Source, open_source
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.prediction.resolving import resolve_settings
from diffprof.prediction.timeline import has_allocations
from diffprof.record.advice import COST, ENERGY, GOALS, MEMORY, RISKS, TIME, Advice
from diffprof.record.execution import execution_of
from diffprof.record.run_settings import RunSettings

MOST_OPTIONS = 16


@dataclass(frozen=True)
class AdviceRequest:
    """The accelerator, the goal and the limits of a request for advice."""

    accelerator: str
    goal: str = TIME
    max_memory_bytes: int | None = None
    max_seconds: float | None = None
    ram_bytes: int | None = None
    settings: RunSettings = field(default_factory=RunSettings)
    """How the pipeline runs now."""
    usd_per_hour: float | None = None
    file: Path | None = None
    """A file with the user's own accelerators."""

    def check(self) -> None:
        """Refuse an invalid request before anything is counted."""
        if self.goal not in GOALS:
            raise RequestError(f"Unknown goal {self.goal!r}; use one of {', '.join(GOALS)}.")
        if "," in self.accelerator:
            raise RequestError(f"Advice is for one accelerator, not for {self.accelerator}; name one of them.")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise RequestError("The longest time must be above 0.")
        find_accelerator(self.accelerator, known_accelerators(self.file))


def advise_source(source: Source, request: AdviceRequest) -> Advice:
    """Evaluate variants of a request and its settings, and return the best."""
    request.check()
    if not has_allocations(source.profile):
        raise RequestError(
            "This profile was saved by an earlier version, without its allocations; count the model again."
        )
    accelerator = find_accelerator(request.accelerator, known_accelerators(request.file))
    settings = resolve_settings(source.profile, request.settings)
    is_thorough = request.goal == MEMORY or request.max_memory_bytes is not None
    evaluator = Evaluator(source, settings, accelerator, request.ram_bytes, request.usd_per_hour, is_thorough)
    base = Plan((), source.request, settings)
    requested = evaluator.evaluate(base)
    if requested is None:
        raise RequestError(
            f"The memory and time of {source.profile.request.model} on {accelerator.name} cannot be predicted."
        )
    choice = _choose(evaluator, [requested, *_search(evaluator, base, source)], request)
    return Advice(
        model=source.profile.request.model,
        accelerator=accelerator.name,
        goal=request.goal,
        requested=evaluator.option(requested, on_front=any(one.plan is base for one in choice.front)),
        options=tuple(evaluator.option(one, on_front=True) for one in choice.options),
        tried=choice.tried,
        max_memory_bytes=request.max_memory_bytes,
        max_seconds=request.max_seconds,
        usable_bytes=evaluator.device.usable_bytes,
        assumptions=evaluator.assumptions(),
        request=source.profile.request,
        execution=execution_of(source.profile),
        nearest=tuple(evaluator.option(one, on_front=False) for one in choice.nearest),
    )


@dataclass(frozen=True)
class _Choice:
    """What is shown of all plans that were tried."""

    options: Sequence[Evaluated]
    front: Sequence[Evaluated]
    nearest: Sequence[Evaluated]
    """If no plan is within the limits, those that come nearest."""
    tried: int


def _choose(evaluator: Evaluator, tried: Sequence[Evaluated], request: AdviceRequest) -> _Choice:
    """Choose what to show; plans whose memory was estimated are evaluated exactly if they would be shown."""
    number = len(tried)
    while True:
        possible = [one for one in tried if one.fits and _is_within(one, request)]
        front = sorted(_front(_without_pointless(possible, tried)), key=lambda one: _rank(one, request.goal))
        choice = _Choice(_spread_over_risks(front), front, () if possible else _nearest(tried), number)
        estimated = [one for one in (*choice.options, *choice.nearest) if not one.is_exact]
        if not estimated:
            return choice
        tried = evaluator.exact_ones(tried, estimated)


def _search(evaluator: Evaluator, base: Plan, source: Source) -> Iterator[Evaluated]:
    """Evaluate all plans that may be worthwhile: combinations of storage, computation and request alternatives."""
    profile = source.profile
    weights = list(weight_alternatives(profile, base.settings, evaluator.accelerator))
    computation = list(computation_alternatives(profile, base.settings))
    requests = list(request_alternatives(profile, base.request))
    others = [part for part in requests if not part.group.startswith("vae_")]
    tiling = [part for part in requests if part.group.startswith("vae_")]
    possible = [plan for plan in _combine(base, weights, 2) if evaluator.may_fit(plan, bool(tiling))]
    small = evaluator.promising(possible, computation)
    for plan in (*small, *_tile_plans(evaluator, base, small, tiling)):
        found = evaluator.evaluate(plan)
        if found is None:
            continue
        if plan.parts:
            yield found
        if found.fits:
            yield from _quicker_plans(evaluator, plan, computation, others)
    for part in siblings(profile, base.request, evaluator.accelerator):
        sibling = Plan((part,), part.rewrite(base.request) if part.rewrite else base.request, base.settings)
        found = evaluator.evaluate(sibling)
        if found is not None:
            yield found
            compiled = [other for other in computation if other.group == "compile"]
            yield from _quicker_plans(evaluator, sibling, compiled, ())


def _tile_plans(
    evaluator: Evaluator, base: Plan, plans: Sequence[Plan], tiling: Sequence[Alternative]
) -> Iterator[Plan]:
    """The plans with tiles, which make the decoder smaller: where the decoder is what takes most, the quickest first.

    Tiles of a video are many tensors to simulate: plans that cannot win are left out.
    """
    whose = [base]
    if evaluator.decodes_at_peak(base):
        whose = [plan for plan in plans if plan is base or evaluator.decodes_at_peak(plan)]
    evaluated = [found for found in map(evaluator.evaluate, whose) if found is not None]
    for found in sorted(evaluated, key=lambda one: one.seconds):
        for part in tiling:
            plan = found.plan.add(part)
            if plan is not None and not evaluator.is_outdone_with_tiles(plan, found):
                yield plan


def _quicker_plans(
    evaluator: Evaluator, plan: Plan, computation: Sequence[Alternative], requests: Sequence[Alternative]
) -> Iterator[Evaluated]:
    """Evaluate the plan combined with alternatives that could make it faster."""
    for faster in _combine(plan, computation, 3):
        alone = evaluator.evaluate(faster)
        if alone is None:
            continue
        if len(faster.parts) > len(plan.parts):
            yield alone
        for part in requests:
            other = faster.add(part)
            if other is None or (part.group == "batch" and not evaluator.is_worthwhile_batch(other, alone)):
                continue
            found = evaluator.evaluate(other)
            if found is not None:
                yield found


def _combine(plan: Plan, parts: Sequence[Alternative], most: int) -> list[Plan]:
    """The plan with every combination of up to this many parts, starting with none."""
    plans = [plan]
    for number, part in enumerate(parts):
        added = plan.add(part)
        if added is not None and most:
            plans += _combine(added, parts[number + 1 :], most - 1)
    return plans


def _nearest(tried: Sequence[Evaluated]) -> list[Evaluated]:
    """The smallest plan, then the fastest of those that fit; without changes that have no effect."""
    fitting = [one for one in tried if one.fits]
    smallest = min(fitting or tried, key=lambda one: (one.peak.device_bytes, len(one.plan.parts)))
    fastest = min(fitting, key=lambda one: (one.seconds, len(one.plan.parts)), default=smallest)
    return [smallest] if fastest is smallest else [smallest, fastest]


def _is_within(one: Evaluated, request: AdviceRequest) -> bool:
    if request.max_memory_bytes is not None and one.peak.device_bytes > request.max_memory_bytes:
        return False
    return request.max_seconds is None or one.time.total_seconds <= request.max_seconds


def _without_pointless(possible: Sequence[Evaluated], tried: Sequence[Evaluated]) -> list[Evaluated]:
    """Leave out plans with a part that improves nothing."""
    by_parts: dict[frozenset[str], Evaluated] = {frozenset(one.plan.names): one for one in possible}
    kept = []
    for one in possible:
        names = frozenset(one.plan.names)
        smaller = (by_parts.get(names - {name}) for name in names)
        if not any(other is not None and _is_as_good(other, one) for other in smaller):
            kept.append(one)
    return kept


def _is_as_good(one: Evaluated, other: Evaluated) -> bool:
    return (
        one.seconds <= POINTLESS * other.seconds
        and one.peak.device_bytes <= POINTLESS * other.peak.device_bytes
        and one.device_seconds <= POINTLESS * other.device_seconds
    )


def _front(options: Sequence[Evaluated]) -> list[Evaluated]:
    """The Pareto front: plans that no other of the same or less risk beats in both time and memory."""
    front: list[Evaluated] = []
    for one in sorted(options, key=lambda one: (one.seconds, one.peak.device_bytes)):
        if not any(_beats(other, one) for other in front):
            front.append(one)
    return front


def _beats(one: Evaluated, other: Evaluated) -> bool:
    if RISKS.index(one.plan.risk) > RISKS.index(other.plan.risk) or one.plan.settings.devices > (
        other.plan.settings.devices
    ):
        return False
    mine, its = (one.seconds, one.peak.device_bytes), (other.seconds, other.peak.device_bytes)
    return mine[0] <= its[0] and mine[1] <= its[1] and mine != its


def _rank(one: Evaluated, goal: str) -> tuple[float, float]:
    values = {
        TIME: one.seconds,
        MEMORY: float(one.peak.device_bytes),
        COST: one.device_seconds,
        ENERGY: one.time.energy_joules / one.results if one.time.energy_joules is not None else one.device_seconds,
    }
    return values[goal], one.seconds


def _spread_over_risks(ranked: Sequence[Evaluated]) -> list[Evaluated]:
    """Select the best of each risk, so that plans without risk are not crowded out; the order is kept.

    Plans with several devices need other hardware: at most two of them are selected.
    """
    distinct: list[Evaluated] = []
    for one in ranked:
        is_outdone = any(_is_clearly_better(other, one) for other in ranked)
        if not is_outdone and not any(_is_similar(other, one) for other in distinct):
            distinct.append(one)
    shared = [one for one in distinct if one.settings.devices > 1][:MOST_SHARED]
    single = [one for one in distinct if one.settings.devices == 1]
    each = MOST_OPTIONS // len(RISKS)
    chosen = [*shared, *(one for risk in RISKS for one in [one for one in single if one.plan.risk == risk][:each])]
    chosen += [one for one in single if one not in chosen][: max(0, MOST_OPTIONS - len(chosen))]
    return [one for one in distinct if one in chosen]


MOST_SHARED = 2


def _is_similar(better: Evaluated, other: Evaluated) -> bool:
    """Whether a better-ranked plan of no higher risk has about the same time and memory."""
    slower, larger = _ratios(better, other)
    return (slower <= CLOSE and larger <= NEAR) or (slower <= NEAR and larger <= CLOSE)


def _is_clearly_better(one: Evaluated, other: Evaluated) -> bool:
    """Whether a plan of no higher risk is about as good in one of time and memory, and much better in the other."""
    slower, larger = _ratios(one, other)
    return (slower <= CLOSE and larger <= 1 / NEAR) or (slower <= 1 / NEAR and larger <= CLOSE)


def _ratios(one: Evaluated, other: Evaluated) -> tuple[float, float]:
    """Ratios of time and memory of two plans; infinite if the first has a higher risk or needs more devices."""
    is_riskier = RISKS.index(one.plan.risk) > RISKS.index(other.plan.risk)
    if is_riskier or one.settings.devices > other.settings.devices:
        return math.inf, math.inf
    return one.seconds / other.seconds, one.peak.device_bytes / other.peak.device_bytes


def advise(
    model: Any,
    *,
    gpu: str,
    goal: str = TIME,
    max_memory: str | int | None = None,
    max_time: float | None = None,
    ram: str | int | None = None,
    price: float | None = None,
    offload: str = "none",
    quantize: str | Mapping[str, str] | None = None,
    layerwise: str | Mapping[str, str] | None = None,
    attention: str = "sdpa",
    compile: bool = False,
    dtype: Any = None,
    scheduler: str | None = None,
    enable: str | Iterable[str] = (),
    **arguments: Any,
) -> Advice:
    """Suggest changes to one call of a pipeline on an accelerator, ranked by a goal.

    `model` is a name, a hub id, a folder, a saved profile or its file, or a live pipeline; `goal` is time, memory, cost
    or energy; `max_memory` (``"16GB"``, as nvidia-smi shows it) and `max_time` in seconds are limits; `price` is
    dollars per hour. All other arguments are those of `diffprof.profile`: those of the pipeline's own
    call, ``steps``, `lora`, `guidance_interval` and the like.
    """
    settings = RunSettings.create(
        offload=offload, quantize=quantize, layerwise=layerwise, attention=attention, compiled=compile
    )
    request = AdviceRequest(
        gpu, goal, parse_memory("max_memory", max_memory), max_time, parse_memory("ram", ram), settings, price
    )
    request.check()
    switches = (enable,) if isinstance(enable, str) else tuple(enable)
    dtype = dtype_on(model, dtype, [find_accelerator(gpu)])
    return advise_source(open_source(model, arguments, dtype=dtype, scheduler=scheduler, enable=switches), request)
