"""Evaluate the memory and time of plans on an accelerator, sharing intermediate results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from diffprof.advice.abilities import can_cache, can_share
from diffprof.advice.alternatives import Plan
from diffprof.advice.assumptions import assumptions_of
from diffprof.advice.code import program
from diffprof.advice.commands import command_line
from diffprof.advice.fit import Outcome, memory_assumptions, outcome_of
from diffprof.advice.fit_changes import NeededMemory
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
        self._tensors: dict[int, int] = {}
        self._similar: dict[int, Job] = {}
        """By profile, the last job of it."""
        self._times: dict[tuple[int, str], PredictedTime] = {}
        self._outcomes: dict[tuple[int, str], Outcome] = {}
        self._calls = KnownCalls()
        self._needed: NeededMemory | None = None
        self._requested = settings

    def evaluate(self, plan: Plan) -> Evaluated | None:
        """The memory and time of the plan; None if the pipeline does not support it."""
        if id(plan) not in self._evaluated:
            self._evaluated[id(plan)] = (plan, self._evaluate(plan))
        return self._evaluated[id(plan)][1]

    def _evaluate(self, plan: Plan) -> Evaluated | None:
        without_tiles = self._without_tiles(plan)
        alike = self._alike(plan)
        profile = alike if without_tiles is not None else self.source.variant(plan.request)
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
        outcome = self._outcome(alike or profile, settings)
        return Evaluated(plan, profile, settings, time, outcome, _results(profile))

    def _found(self) -> Iterator[Evaluated]:
        return (one for _, one in self._evaluated.values() if one is not None)

    def is_outdone(self, plan: Plan, without: Evaluated) -> bool:
        """Whether several images per call are certainly not worth their memory.

        They are not if each takes about as long as a single image, or if another plan of no higher risk is faster and
        needs less memory than the tensors of this many images alone.
        """
        profile = self.source.variant(plan.request)
        if profile is None:
            return True
        seconds = self._time(profile, without.settings).total_seconds / _results(profile)
        if without.seconds <= POINTLESS * seconds:
            return True
        least = self._tensor_bytes(profile) + self.device.context_bytes
        return any(
            other.fits
            and other.seconds <= seconds
            and other.peak.device_bytes <= least
            and RISKS.index(other.plan.risk) <= RISKS.index(plan.risk)
            and other.settings.devices <= plan.settings.devices
            for other in self._found()
        )

    def is_outdone_with_tiles(self, plan: Plan, without: Evaluated) -> bool:
        """Whether another plan is faster and needs less memory than this one outside of decoding.

        Anything that makes this plan faster can then be applied to the other, too.
        """
        least = max((stage.device_bytes for stage in without.outcome.stages if stage.stage != DECODE), default=0)
        return any(
            other.fits
            and other.seconds <= POINTLESS * without.seconds
            and other.peak.device_bytes <= POINTLESS * least
            and RISKS.index(other.plan.risk) <= RISKS.index(plan.risk)
            and other.settings.devices <= plan.settings.devices
            and (without.settings.offload != "none" or other.settings.offload == "none")
            for other in self._found()
        )

    def _tensor_bytes(self, profile: Profile) -> int:
        """The peak of allocated memory without weights, which does not depend on how they are stored."""
        if id(profile) not in self._tensors:
            stages = self._outcome(profile, resolve_settings(profile, RunSettings())).stages
            self._tensors[id(profile)] = max(stage.activation_bytes + stage.kept_bytes for stage in stages)
        return self._tensors[id(profile)]

    def _without_tiles(self, plan: Plan) -> Profile | None:
        """The profile of a plan with tiles and fewer or cheaper steps, without the tiles; None for other plans.

        Tiles change the decoder and steps the denoiser: what both take together is known without counting it, until
        the option is shown.
        """
        groups = {part.group for part in plan.parts if part.rewrite is not None}
        tiles = {group for group in groups if group.startswith("vae_")}
        if not tiles or not groups - tiles or not groups - tiles <= set(MEMORY_GROUPS):
            return None
        request = self.source.request
        for part in plan.parts:
            if part.rewrite is not None and part.group not in tiles:
                request = part.rewrite(request)
        return self.source.variant(request)

    def _add_tiles(self, tiled: PredictedTime, without_tiles: Profile, settings: RunSettings) -> PredictedTime:
        """The time of all steps with tiles, less what the cheaper steps save."""
        cheaper, usual = self._time(without_tiles, settings), self._time(self.source.profile, settings)
        energies = [one.energy_joules for one in (tiled, cheaper, usual)]
        return replace(
            tiled,
            total_seconds=tiled.total_seconds + cheaper.total_seconds - usual.total_seconds,
            energy_joules=None if None in energies else energies[0] + energies[1] - energies[2],  # type: ignore[operator]
        )

    def _alike(self, plan: Plan) -> Profile | None:
        """The profile without alternatives that do not change memory, such as fewer steps."""
        request = self.source.request
        for part in plan.parts:
            if part.rewrite is not None and part.group not in MEMORY_GROUPS:
                request = part.rewrite(request)
        return self.source.variant(request)

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
        if self._needed is None:
            stages = self._outcome(profile, self._requested).stages
            self._needed = NeededMemory(stages, self.device.capacity_bytes)
        return not plan.parts or self._needed.can_fit(profile, (), plan.settings)

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

    def option(self, one: Evaluated, on_front: bool) -> Option | None:
        """The plan as an option to show, with its code and commands; None if it cannot be evaluated exactly."""
        profile = self.source.variant(one.plan.request)
        if profile is None:
            return None
        one = replace(one, profile=profile, time=self._time(profile, one.settings))
        outcome = self._outcome(one.profile, one.settings)
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


def _other_size(requested: Profile, made: Profile) -> tuple[str, ...]:
    """The size of another model's result as a change, if it differs from the requested size."""
    sizes = [[one.request.value(name) for name in ("num_frames", "height", "width")] for one in (requested, made)]
    if sizes[0] == sizes[1] or requested.request.model == made.request.model:
        return ()
    return ("x".join(str(number) for number in sizes[1] if number),) if any(sizes[1]) else ()


def _results(profile: Profile) -> int:
    number = profile.request.value("num_images_per_prompt")
    return number if isinstance(number, int) and number > 0 else 1
