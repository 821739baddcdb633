"""Evaluate the memory and time of plans on an accelerator, sharing intermediate results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from diffprof.advice.abilities import can_cache, can_share
from diffprof.advice.alternatives import Alternative, Plan
from diffprof.advice.assumptions import assumptions_of
from diffprof.advice.code import program
from diffprof.advice.commands import command_line
from diffprof.advice.fit import Outcome, memory_assumptions, outcome_of
from diffprof.advice.fit_changes import NeededMemory
from diffprof.advice.sizes import memory_option
from diffprof.advice.sources import Source
from diffprof.advice.tiled_memory import estimate_with_tiles, is_video
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

MEMORY_GROUPS = ("steps", "guidance")
"""Alternatives that are assumed not to change memory during the search; shown options are evaluated exactly."""


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
    """Whether the memory was simulated for this very request, and not estimated from a similar one."""

    @property
    def fits(self) -> bool:
        return self.outcome.fits is True

    @property
    def peak(self) -> MemoryPeak:
        return self.outcome.peak

    @property
    def host(self) -> HostMemory:
        return self.outcome.host

    @property
    def seconds(self) -> float:
        """Seconds for one image or video."""
        return self.time.total_seconds / self.results

    @property
    def device_seconds(self) -> float:
        """The summed time of all devices for one image or video, which determines the price."""
        return self.seconds * self.settings.devices


class Evaluator:
    """Evaluates plans on one accelerator, and caches what they have in common."""

    def __init__(
        self,
        source: Source,
        settings: RunSettings,
        accelerator: Accelerator,
        ram_bytes: int | None,
        usd_per_hour: float | None,
    ) -> None:
        self.source = source
        self.accelerator = accelerator
        self.ram_bytes = ram_bytes
        self.usd_per_hour = usd_per_hour
        self.device = device_memory(accelerator)
        self._timed = device_of(accelerator)
        self._basis = "measured" if accelerator.measured else basis_of(accelerator)
        self._jobs: dict[tuple[int, str], Job] = {}
        self._evaluated: dict[int, tuple[Plan, Evaluated | None]] = {}
        """By the identity of the plan, which is kept so that it stays its own."""
        self._similar: dict[int, Job] = {}
        """By profile, the last job of it."""
        self._times: dict[tuple[int, str], PredictedTime] = {}
        self._outcomes: dict[tuple[int, str], Outcome] = {}
        self._calls = KnownCalls()
        self._needed: dict[int, NeededMemory] = {}
        """By profile."""
        self._requested = settings

    def evaluate(self, plan: Plan) -> Evaluated | None:
        """The memory and time of the plan; None if the pipeline does not support it."""
        if id(plan) not in self._evaluated:
            self._evaluated[id(plan)] = (plan, self._evaluate(plan))
        return self._evaluated[id(plan)][1]

    def _evaluate(self, plan: Plan) -> Evaluated | None:
        without_tiles = self._without_tiles(plan)
        similar = self._similar_in_memory(plan)
        profile = similar if without_tiles is not None else self.source.variant(plan.request)
        if profile is None:
            return None
        try:
            settings = resolve_settings(profile, plan.settings)
        except RequestError:
            return None  # another model may have other components
        groups = {part.group for part in plan.parts}
        if ("cache" in groups and not can_cache(profile)) or ("devices" in groups and not can_share(profile)):
            return None  # and other classes
        time = self._time(profile, settings)
        if without_tiles is not None:
            time = self._add_tiles(time, without_tiles, settings)
        estimate = self._tiled_outcome(plan, similar or profile, settings)
        outcome = estimate or self._outcome(similar or profile, settings)
        is_exact = profile is similar and without_tiles is None and estimate is None
        return Evaluated(plan, profile, settings, time, outcome, _results(profile), is_exact)

    def exact(self, one: Evaluated) -> Evaluated | None:
        """The same plan without estimates; None if its request cannot be counted."""
        if one.is_exact:
            return one
        profile = self.source.variant(one.plan.request)
        if profile is None:
            return None
        time, outcome = self._time(profile, one.settings), self._outcome(profile, one.settings)
        return replace(one, profile=profile, time=time, outcome=outcome, is_exact=True)

    def _evaluations(self) -> Iterator[Evaluated]:
        return (one for _, one in self._evaluated.values() if one is not None)

    def is_outdone(self, plan: Plan, without: Evaluated) -> bool:
        """Whether several images per call are certainly not worth their memory.

        They are not if each takes about as long as a single image, or if another plan of no higher risk is faster and
        needs less memory than this many images at least.
        """
        profile = self.source.variant(plan.request)
        if profile is None:
            return True
        seconds = self._time(profile, without.settings).total_seconds / _results(profile)
        if without.seconds <= POINTLESS * seconds:
            return True
        least = self._least_bytes(profile, plan.settings)
        return any(_is_no_worse(other, plan, seconds, least) for other in self._evaluations())

    def promising(self, plans: Sequence[Plan], quicker: Sequence[Alternative]) -> list[Plan]:
        """Those of some plans for the same request that no other of them outdoes, without simulating all of them.

        A plan is outdone if another is as fast, needs less memory than this one at least, and can be combined with
        everything that makes this one faster.
        """
        profile = self.source.profile
        seconds = {id(plan): self._time(profile, plan.settings).total_seconds / _results(profile) for plan in plans}
        least = {id(plan): self._least_bytes(profile, plan.settings) for plan in plans}
        kept: dict[int, Evaluated] = {}
        for plan in sorted(plans, key=lambda one: (seconds[id(one)], least[id(one)])):
            possible = [part for part in quicker if plan.add(part) is not None]
            others = [one for one in kept.values() if all(one.plan.add(part) is not None for part in possible)]
            if plan.parts and _is_outdone(plan, seconds[id(plan)], least[id(plan)], others):
                continue
            found = self.evaluate(plan)
            if found is not None:
                kept[id(plan)] = found
        return [plan for plan in plans if id(plan) in kept]

    def is_outdone_with_tiles(self, plan: Plan, without: Evaluated) -> bool:
        """Whether another plan is faster and needs less memory than this one outside of decoding.

        Anything that makes this plan faster can then be applied to the other, too.
        """
        least = max((stage.device_bytes for stage in without.outcome.stages if stage.stage != DECODE), default=0)
        return any(
            _is_no_worse(other, plan, POINTLESS * without.seconds, POINTLESS * least)
            and (without.settings.offload != "none" or other.settings.offload == "none")
            for other in self._evaluations()
        )

    def _least_bytes(self, profile: Profile, settings: RunSettings) -> int:
        """A lower bound of the memory, as nvidia-smi shows it."""
        return self._needed_memory(profile).least_bytes(profile, settings) + self.device.context_bytes

    def _needed_memory(self, profile: Profile) -> NeededMemory:
        """The memory of each stage with all weights on the device as they are stored."""
        if id(profile) not in self._needed:
            plain = replace(self._requested, offload="none", quantize={}, layerwise={}, drop_text_encoders=False)
            stages = self._outcome(profile, plain).stages
            self._needed[id(profile)] = NeededMemory(stages, self.device.capacity_bytes)
        return self._needed[id(profile)]

    def _without_tiles(self, plan: Plan) -> Profile | None:
        """The profile of a plan with tiles and fewer or cheaper steps, without the tiles; None for other plans.

        Tiles change the decoder and steps the denoiser: what both take together is known without counting it, until
        the option is shown.
        """
        groups = {part.group for part in plan.parts if part.rewrite is not None}
        tiles = {group for group in groups if group.startswith("vae_")}
        if not tiles or not groups - tiles or not groups - tiles <= set(MEMORY_GROUPS):
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

    def _similar_in_memory(self, plan: Plan) -> Profile | None:
        """The profile without alternatives that do not change memory, such as fewer steps."""
        return self._variant(plan, MEMORY_GROUPS)

    def _variant(self, plan: Plan, left_out: Collection[str]) -> Profile | None:
        """The profile of a plan without its alternatives of some groups."""
        request = self.source.request
        for part in plan.parts:
            if part.rewrite is not None and part.group not in left_out:
                request = part.rewrite(request)
        return self.source.variant(request)

    def _tiled_outcome(self, plan: Plan, tiled: Profile, settings: RunSettings) -> Outcome | None:
        """An estimate of the memory of a video that is decoded in tiles; None for other plans.

        Simulating the tiles of a video takes long, so that is done only for options that would be shown.
        """
        tiles = {part.group for part in plan.parts if part.group.startswith("vae_")}
        whole = self._variant(plan, {*tiles, *MEMORY_GROUPS}) if tiles and is_video(tiled) else None
        if whole is None:
            return None
        without = self._outcome(whole, settings)
        return estimate_with_tiles(without, whole, tiled, self.device.capacity_bytes, self.ram_bytes)

    def has_room_for_weights(self, plan: Plan) -> bool:
        """Whether all weights of the plan's model are smaller than the memory of the device."""
        profile = self.source.variant(plan.request)
        if profile is None or self.device.capacity_bytes is None:
            return profile is not None
        return sum(part.weight_bytes for part in profile.components.values()) <= self.device.capacity_bytes

    def decodes_at_peak(self, plan: Plan) -> bool:
        """Whether the peak of allocated or reserved memory is in decoding."""
        found = self.evaluate(plan)
        if found is None:
            return False
        most = max(found.outcome.stages, key=lambda stage: stage.reserved_bytes)
        return DECODE in (found.peak.stage, most.stage)

    def can_fit(self, plan: Plan) -> bool:
        """Whether the plan may fit; a quick check that avoids simulating the allocator if the answer is clear."""
        profile = self.source.profile
        return not plan.parts or self._needed_memory(profile).can_fit(profile, (), plan.settings)

    def _time(self, profile: Profile, settings: RunSettings) -> PredictedTime:
        timed = (id(profile), repr(replace(settings, drop_text_encoders=False)))
        if timed not in self._times:
            job = replace(self._job(profile, settings), settings=settings).skip_calls(settings.skip_rate)
            self._times[timed] = predict_time(job, self._timed, self._basis, usd_per_hour=self.usd_per_hour)
        return self._times[timed]

    def _job(self, profile: Profile, settings: RunSettings) -> Job:
        """The job of a profile with its loads as the settings make them; where and how often they run comes later."""
        alike = replace(settings, offload="none", compiled=False, drop_text_encoders=False, skip_rate=0.0)
        key = (id(profile), repr(alike))
        if key not in self._jobs:
            similar = self._similar.get(id(profile)) or self._similar.get(id(self.source.profile))
            self._jobs[key] = self._similar[id(profile)] = job_of(profile, alike, similar)
        return self._jobs[key]

    def _outcome(self, profile: Profile, settings: RunSettings) -> Outcome:
        kept = replace(settings, skip_rate=0.0, compiled=False)
        key = (id(profile), repr(kept))
        if key not in self._outcomes:
            self._outcomes[key] = outcome_of(profile, kept, self.device, self.ram_bytes, self._calls)
        return self._outcomes[key]

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


def _is_outdone(plan: Plan, seconds: float, least_bytes: int, others: Sequence[Evaluated]) -> bool:
    """Whether one of the other plans is as fast with less memory, or much faster with about as much."""
    leaves = replace(plan.settings, offload="group-leaf")
    by_leaf = next((other for other in others if other.plan.settings == leaves), None)
    if by_leaf is not None and plan.settings.offload == "group":
        # The weights of a block are on the device at once.
        return _is_no_worse(by_leaf, plan, seconds, by_leaf.peak.device_bytes)
    if by_leaf is not None and plan.settings.offload == "sequential":
        # It can save no more than the weights that are on the device with group offload.
        least_bytes = max(stage.device_bytes - sum(stage.weights.values()) for stage in by_leaf.outcome.stages)
    return any(
        _is_no_worse(other, plan, seconds, least_bytes / POINTLESS)
        or _is_no_worse(other, plan, seconds / NEAR, least_bytes * CLOSE)
        for other in others
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
