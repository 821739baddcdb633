"""Evaluate the memory and time of plans on an accelerator, sharing intermediate results."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from diffprof.advice.abilities import can_cache, can_share
from diffprof.advice.alternatives import Alternative, Plan
from diffprof.advice.assumptions import assumptions_of
from diffprof.advice.code import program
from diffprof.advice.commands import command_line
from diffprof.advice.estimated_memory import SimilarMemory, kind_of
from diffprof.advice.fit import memory_assumptions
from diffprof.advice.outcome import Outcome, fitting_outcome, outcome_of
from diffprof.advice.sizes import memory_option
from diffprof.advice.sources import Source
from diffprof.catalogue.accelerators import Accelerator
from diffprof.errors import RequestError
from diffprof.prediction.device import basis_of, device_of
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.resolving import resolve_settings
from diffprof.prediction.time import Job, job_of, predict_time
from diffprof.record.advice import NO_RISK, RISKS, Option
from diffprof.record.fit import DECODE, HostMemory, MemoryPeak
from diffprof.record.prediction import PredictedTime
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

POINTLESS = 1.02
"""A part that makes neither time nor memory smaller by 2 % is left out."""

CLOSE, NEAR = 1.03, 1.2
"""Options are similar if they differ by 3 % in one of time and memory, and by less than 20 % in the other."""

STEP_GROUPS = ("steps", "guidance")
"""Alternatives that change the steps and nothing else."""


@dataclass(frozen=True)
class Evaluated:
    """A plan with its memory and time."""

    plan: Plan
    profile: Profile
    settings: RunSettings
    """The settings, resolved for the components of the profile."""
    time: PredictedTime
    outcome: Outcome
    results: int
    is_exact: bool = True
    """Whether the memory was simulated, and not estimated from that of the request."""

    @property
    def fits(self) -> bool:
        return self.outcome.fits is True

    @property
    def peak(self) -> MemoryPeak:
        return self.outcome.peak

    @property
    def host(self) -> HostMemory:
        return self.outcome.host

    @cached_property
    def seconds(self) -> float:
        """Seconds for one image or video."""
        return self.time.total_seconds / self.results

    @property
    def device_seconds(self) -> float:
        """The summed time of all devices for one image or video, which determines the price."""
        return self.seconds * self.settings.devices


class Evaluator:
    """Evaluates plans on one accelerator, and caches what they have in common.

    Memory is estimated from one simulation; `exact` simulates that of a plan which would be shown.
    """

    def __init__(
        self,
        source: Source,
        settings: RunSettings,
        accelerator: Accelerator,
        ram_bytes: int | None,
        usd_per_hour: float | None,
        is_thorough: bool = False,
    ) -> None:
        """With `is_thorough`, options are not left out because others of their kind were found to need more memory."""
        self.source = source
        self.accelerator = accelerator
        self.ram_bytes = ram_bytes
        self.usd_per_hour = usd_per_hour
        self.device = device_memory(accelerator)
        self._timed = device_of(accelerator)
        self._basis = "measured" if accelerator.measured else basis_of(accelerator)
        self._jobs: dict[tuple[int, Hashable], Job] = {}
        self._evaluated: dict[int, tuple[Plan, Evaluated | None]] = {}
        """By the identity of the plan, which is kept so that it stays its own."""
        self._latest_jobs: dict[int, Job] = {}
        """By profile, the last job of it."""
        self._times: dict[tuple[int, Hashable], PredictedTime] = {}
        self._outcomes: dict[tuple[int, Hashable], Outcome | None] = {}
        self._calls = KnownCalls()
        self._similar_memory: dict[str, SimilarMemory] = {}
        """By how attention is computed."""
        self._requested = settings
        self._is_thorough = is_thorough

    def evaluate(self, plan: Plan) -> Evaluated | None:
        """The memory and time of the plan; None if the pipeline does not support it."""
        if id(plan) not in self._evaluated:
            self._evaluated[id(plan)] = (plan, self._evaluate(plan))
        return self._evaluated[id(plan)][1]

    def _evaluate(self, plan: Plan) -> Evaluated | None:
        without_tiles = self._without_tiles(plan)
        profile = self._variant(plan, STEP_GROUPS) if without_tiles is not None else self.source.variant(plan.request)
        if profile is None:
            return None
        try:
            settings = resolve_settings(profile, plan.settings)
        except RequestError:
            return None  # another model may have other components
        groups = {part.group for part in plan.parts}
        if ("cache" in groups and not can_cache(profile)) or ("devices" in groups and not can_share(profile)):
            return None  # and other classes
        is_exact = not plan.parts
        outcome = self._outcome(profile, settings) if is_exact else self._estimate(profile, settings)
        if "model" in groups and outcome.fits is False:
            return None  # nothing that is combined with another model would make it smaller
        time = self._time(profile, settings)
        if without_tiles is not None:
            time = self._add_tiles(time, without_tiles, settings)
        return Evaluated(plan, profile, settings, time, outcome, _results(profile), is_exact)

    def exact(self, one: Evaluated) -> Evaluated | None:
        """The same plan without estimates; None if its request cannot be counted.

        A plan that does not fit after all keeps its estimate: it is simulated with more memory only if nothing fits.
        """
        if one.is_exact:
            return one
        profile = self.source.variant(one.plan.request)
        if profile is None:
            return None
        outcome = self._fitting_outcome(profile, one.settings) if one.fits else self._outcome(profile, one.settings)
        if outcome is None:
            return replace(one, outcome=replace(one.outcome, fits=False))
        if not self._is_thorough:
            self._similar(one.settings).learn(profile, one.settings, outcome.stages)
        return replace(one, profile=profile, time=self._time(profile, one.settings), outcome=outcome, is_exact=True)

    def exact_ones(self, tried: Iterable[Evaluated], shown: Collection[Evaluated]) -> list[Evaluated]:
        """All that were tried, with less estimates among the shown ones; what cannot be counted is left out.

        Of each kind only one is simulated: that is enough to estimate the others better.
        """
        kinds = {id(one) if self._is_thorough else kind_of(one.profile, one.settings): one for one in shown}
        chosen = {id(one) for one in kinds.values()}
        exact = [self.exact(one) if id(one) in chosen else one for one in tried]
        return [self._estimate_again(one) for one in exact if one is not None]

    def _estimate_again(self, one: Evaluated) -> Evaluated:
        if one.is_exact or one.outcome.fits is False:
            return one
        outcome = self._estimate(one.profile, one.settings)
        return one if outcome is one.outcome else replace(one, outcome=outcome)

    def _evaluations(self) -> Iterator[Evaluated]:
        return (one for _, one in self._evaluated.values() if one is not None)

    def is_worthwhile_batch(self, plan: Plan, without: Evaluated) -> bool:
        """Whether several images per call may be worth their memory.

        They are not if each takes about as long as a single image, or if another plan of no higher risk is faster and
        needs no more memory.
        """
        found = self.evaluate(plan)
        if found is None or without.seconds <= POINTLESS * found.seconds:
            return False
        others = (one for one in self._evaluations() if one is not found)
        return not any(_is_no_worse(other, plan, found.seconds, self._least_bytes(found)) for other in others)

    def promising(self, plans: Sequence[Plan], quicker: Sequence[Alternative]) -> list[Plan]:
        """Those of some plans that no other of them outdoes.

        A plan is outdone if another is as fast with less memory, or much faster with about as much, and can be combined
        with everything that makes this one faster.
        """
        evaluated = [found for found in map(self.evaluate, plans) if found is not None]
        kept: list[Evaluated] = []
        for one in sorted(evaluated, key=lambda one: (one.seconds, one.peak.device_bytes)):
            possible = [part for part in quicker if one.plan.add(part) is not None]
            others = [other for other in kept if all(other.plan.add(part) is not None for part in possible)]
            least = self._least_bytes(one)
            if not one.plan.parts or not any(_outdoes(other, one, least) for other in others):
                kept.append(one)
        return [one.plan for one in evaluated if one in kept]

    def _least_bytes(self, one: Evaluated) -> int:
        """What the plan needs at least, as nvidia-smi shows it: its tensors, and no cache."""
        return one.peak.allocated_bytes + self.device.context_bytes

    def is_outdone_with_tiles(self, plan: Plan, without: Evaluated) -> bool:
        """Whether another plan is faster and needs less memory than this one outside of decoding.

        Anything that makes this plan faster can then be applied to the other, too.
        """
        others = [stage.allocated_bytes for stage in without.outcome.stages if stage.stage != DECODE]
        least = max(others, default=0) + self.device.context_bytes
        return any(
            _is_no_worse(other, plan, POINTLESS * without.seconds, POINTLESS * least)
            and (without.settings.offload != "none" or other.settings.offload == "none")
            for other in self._evaluations()
        )

    def _estimate(self, profile: Profile, settings: RunSettings) -> Outcome:
        """The memory as far as it is known from that of the request with all weights on the device."""
        return self._similar(settings).estimate(profile, settings, self.ram_bytes)

    def _similar(self, settings: RunSettings) -> SimilarMemory:
        if settings.attention not in self._similar_memory:
            plain = replace(
                self._requested, attention=settings.attention, offload="none", quantize={}, layerwise={},
                drop_text_encoders=False, devices=1,
            )  # fmt: skip
            stages = self._outcome(self.source.profile, plain).stages
            similar = SimilarMemory(self.source.profile, stages, self.device, is_low=self._is_thorough)
            self._similar_memory[settings.attention] = similar
        return self._similar_memory[settings.attention]

    def _without_tiles(self, plan: Plan) -> Profile | None:
        """The profile of a plan with tiles and fewer or cheaper steps, without the tiles; None for other plans.

        Tiles change the decoder and steps the denoiser: what both take together is known without counting it, until
        the option is shown.
        """
        groups = {part.group for part in plan.parts if part.rewrite is not None}
        tiles = {group for group in groups if group.startswith("vae_")}
        if not tiles or not groups - tiles or not groups - tiles <= set(STEP_GROUPS):
            return None
        return self._variant(plan, tiles)

    def _add_tiles(self, tiled: PredictedTime, without_tiles: Profile, settings: RunSettings) -> PredictedTime:
        """The time of all steps with tiles, less what the cheaper steps save."""
        cheaper, usual = self._time(without_tiles, settings), self._time(self.source.profile, settings)
        energies = [one.energy_joules for one in (tiled, cheaper, usual)]
        return replace(
            tiled,
            total_seconds=tiled.total_seconds + cheaper.total_seconds - usual.total_seconds,
            energy_joules=None if None in energies else energies[0] + energies[1] - energies[2],  # type: ignore[operator]
        )

    def _variant(self, plan: Plan, left_out: Collection[str]) -> Profile | None:
        """The profile of a plan without its alternatives of some groups."""
        request = self.source.request
        for part in plan.parts:
            if part.rewrite is not None and part.group not in left_out:
                request = part.rewrite(request)
        return self.source.variant(request)

    def decodes_at_peak(self, plan: Plan) -> bool:
        """Whether the peak of allocated or reserved memory is in decoding."""
        found = self.evaluate(plan)
        if found is None:
            return False
        most = max(found.outcome.stages, key=lambda stage: stage.reserved_bytes)
        return DECODE in (found.peak.stage, most.stage)

    def may_fit(self, plan: Plan, can_tile: bool) -> bool:
        """Whether a plan for the same request may fit, or all but its decoding if that can be done in tiles."""
        outcome, capacity = self._estimate(self.source.profile, plan.settings), self.device.capacity_bytes
        if outcome.fits or not plan.parts or capacity is None:
            return True
        needed = [stage.allocated_bytes for stage in outcome.stages if stage.stage != DECODE]
        return can_tile and max(needed, default=0) <= capacity

    def _time(self, profile: Profile, settings: RunSettings) -> PredictedTime:
        timed = (id(profile), replace(settings, drop_text_encoders=False).key)
        if timed not in self._times:
            job = replace(self._job(profile, settings), settings=settings).skip_calls(settings.skip_rate)
            self._times[timed] = predict_time(job, self._timed, self._basis, usd_per_hour=self.usd_per_hour)
        return self._times[timed]

    def _job(self, profile: Profile, settings: RunSettings) -> Job:
        """The job of a profile with its loads as the settings make them; where and how often they run comes later."""
        alike = replace(settings, offload="none", compiled=False, drop_text_encoders=False, skip_rate=0.0)
        key = (id(profile), alike.key)
        if key not in self._jobs:
            similar = self._latest_jobs.get(id(profile)) or self._latest_jobs.get(id(self.source.profile))
            self._jobs[key] = self._latest_jobs[id(profile)] = job_of(profile, alike, similar)
        return self._jobs[key]

    def _outcome(self, profile: Profile, settings: RunSettings) -> Outcome:
        """The memory of a plan, and whether it fits; plans that differ in their time share it."""
        key, same = _same_memory(profile, settings)
        found = self._outcomes.get(key)
        if found is None:
            found = self._outcomes[key] = outcome_of(profile, same, self.device, self.ram_bytes, self._calls)
        return found

    def _fitting_outcome(self, profile: Profile, settings: RunSettings) -> Outcome | None:
        """The same of a plan that fits, and None of others: what they would need takes another simulation."""
        key, same = _same_memory(profile, settings)
        if key not in self._outcomes:
            self._outcomes[key] = fitting_outcome(profile, same, self.device, self.ram_bytes, self._calls)
        found = self._outcomes[key]
        return None if found is None or found.fits is False else found

    def option(self, one: Evaluated, on_front: bool) -> Option:
        """The plan as an option to show, with its code and commands."""
        outcome = one.outcome
        words = ["--gpu", self.accelerator.name]
        ram = memory_option("--ram", self.ram_bytes)
        price = ["--price", f"{self.usd_per_hour:g}"] if self.usd_per_hour is not None else []
        request = one.plan.request
        return Option(
            changes=(*one.plan.names, *_other_size(self.source.profile, one.profile)),
            model=one.profile.request.model,
            settings=one.settings,
            risk=one.plan.risk,
            risks=tuple(part.name for part in one.plan.parts if part.risk != NO_RISK),
            results=one.results,
            total_seconds=one.time.total_seconds,
            low_seconds=one.time.low_seconds,
            high_seconds=one.time.high_seconds,
            energy_joules=one.time.energy_joules,
            price_usd=one.time.price_usd,
            peak=outcome.peak,
            host=outcome.host,
            fits=outcome.fits is True,
            on_front=on_front,
            code=program(one.profile, request, one.settings),
            fit_command=command_line("fit", request, one.settings, [*words, *ram]),
            predict_command=command_line("predict", request, one.settings, [*words, *price]),
        )

    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the advice; those of options are listed by `fit` and `predict`."""
        settings = RunSettings()
        timed = assumptions_of(self.source.profile, [self.accelerator], settings)
        kept = memory_assumptions(self.source.profile, settings, self.device)
        return tuple(
            dict.fromkeys(
                (
                    "figures of time and memory are those of `diffprof predict` and `diffprof fit`, whose commands are "
                    "given; what quality an option costs is a rule of thumb, not measured",
                    "a cache is taken to skip the share that is named; what threshold that takes depends on the model",
                    *kept,
                    *timed,
                )
            )
        )


def _same_memory(profile: Profile, settings: RunSettings) -> tuple[tuple[int, Hashable], RunSettings]:
    """The settings without what changes the time only, and the key of what is known for them."""
    same = replace(settings, skip_rate=0.0, compiled=False)
    return (id(profile), same.key), same


def _outdoes(other: Evaluated, one: Evaluated, least_bytes: int) -> bool:
    """Whether another plan is as fast with less memory than one needs at least, or much faster with about as much."""
    return _is_no_worse(other, one.plan, one.seconds, least_bytes / POINTLESS) or _is_no_worse(
        other, one.plan, one.seconds / NEAR, least_bytes * CLOSE
    )


def _is_no_worse(other: Evaluated, plan: Plan, seconds: float, least_bytes: float) -> bool:
    """Whether an evaluated plan is as fast, needs no more memory, and has no higher risk nor more devices."""
    return (
        other.fits
        and other.seconds <= seconds
        and other.peak.device_bytes <= least_bytes
        and RISKS.index(other.plan.risk) <= RISKS.index(plan.risk)
        and other.settings.devices <= plan.settings.devices
    )


def _other_size(requested: Profile, made: Profile) -> tuple[str, ...]:
    """The size of another model's result as a change, if it differs from the requested size."""
    sizes = [[one.request.value(name) for name in ("num_frames", "height", "width")] for one in (requested, made)]
    if sizes[0] == sizes[1] or requested.request.model == made.request.model:
        return ()
    return ("x".join(str(number) for number in sizes[1] if number),) if any(sizes[1]) else ()


def _results(profile: Profile) -> int:
    number = profile.request.value("num_images_per_prompt")
    return number if isinstance(number, int) and number > 0 else 1
