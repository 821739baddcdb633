"""Alternatives for a generation: each changes the request, the settings, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import Any

from diffprof.advice.abilities import can_cache, can_share, can_swap_scheduler, can_tile
from diffprof.advice.code import GUIDED_UNTIL
from diffprof.advice.dtypes import dtype_on
from diffprof.advice.fit_changes import Step, packed_denoisers, packed_encoders, settings_after
from diffprof.catalogue import Head, find, heads
from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.entry import Entry
from diffprof.record.advice import HIGH, LOW, MEDIUM, NO_RISK, RISKS
from diffprof.record.changes import Changes
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

Rewrite = Callable[[Request], Request]


@dataclass(frozen=True)
class Alternative:
    """One change of a generation."""

    name: str
    group: str
    """At most one alternative of a group is used."""
    risk: str = NO_RISK
    settings: Mapping[str, object] = field(default_factory=dict)
    rewrite: Rewrite | None = None
    """Changes the request, which needs another count; None if the request stays the same."""
    needs: Callable[[RunSettings], bool] = lambda settings: True
    """Whether it is compatible with given settings."""


@dataclass(frozen=True)
class Plan:
    """A combination of alternatives."""

    parts: tuple[Alternative, ...]
    request: Request
    settings: RunSettings

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def risk(self) -> str:
        return max((part.risk for part in self.parts), key=RISKS.index, default=NO_RISK)

    def add(self, part: Alternative) -> Plan | None:
        """The plan with one more alternative; None if they exclude each other."""
        if any(other.group == part.group for other in self.parts) or not part.needs(self.settings):
            return None
        request = self.request if part.rewrite is None else part.rewrite(self.request)
        settings = settings_after(self.settings, (Step(settings=part.settings),))
        if any(not other.needs(settings) for other in self.parts):
            return None
        return Plan((*self.parts, part), request, settings)


def weight_alternatives(profile: Profile, settings: RunSettings, accelerator: Accelerator) -> Iterator[Alternative]:
    """Alternatives that reduce device memory without another count: offload, and quantized weights."""
    for step in packed_denoisers(profile, settings):
        if step.name == "layerwise fp8":
            yield Alternative(step.name, DENOISER, LOW, step.settings, needs=lambda own: not own.quantize)
        elif "nf4" in step.name:
            yield Alternative(step.name, DENOISER, MEDIUM, step.settings)
    yield from _quick_products(profile, settings, accelerator)
    for step in packed_encoders(profile, settings):
        if "drop_text_encoders" in step.settings:
            yield Alternative(step.name, ENCODERS, NO_RISK, step.settings, needs=_is_on_one_device)
        elif "nf4" in step.name:
            yield Alternative(step.name, ENCODERS, LOW, step.settings, needs=lambda own: own.offload == "none")
    if settings.offload == "none" and settings.devices == 1:
        for way in ("model", "group-leaf", "group", "sequential"):
            can_pack = way in ("model", "group-leaf")
            needs = _is_placed_nowhere if can_pack else _is_as_it_was
            yield Alternative(f"offload {way}", "offload", NO_RISK, {"offload": way}, needs=needs)


DENOISER, ENCODERS = "weights of the denoiser", "weights of text encoders"


def _quick_products(profile: Profile, settings: RunSettings, accelerator: Accelerator) -> Iterator[Alternative]:
    """8-bit products, which are faster if the matrix cores support them; their kernels need compiled code."""
    denoisers = [slot for slot, part in profile.components.items() if part.role == "denoiser" and part.weight_bytes]
    peaks = accelerator.peak_flops_per_second
    if not denoisers or settings.quantize or settings.layerwise or settings.offload != "none":
        return
    for kind, dtype in (("fp8-dynamic", "float8"), ("int8-dynamic", "int8")):
        if peaks.get(dtype, 0) > peaks.get("float16", 0):
            packed = {"quantize": dict.fromkeys(denoisers, f"torchao:{kind}"), "compiled": True}
            yield Alternative(f"products in {kind}, compiled", DENOISER, MEDIUM, packed, needs=_is_resident)
            return


def _is_resident(settings: RunSettings) -> bool:
    return settings.offload == "none"


def _is_as_it_was(settings: RunSettings) -> bool:
    return _is_placed_nowhere(settings) and not settings.quantize and not settings.layerwise


def _is_on_one_device(settings: RunSettings) -> bool:
    return settings.offload == "none" and settings.devices == 1


def _is_placed_nowhere(settings: RunSettings) -> bool:
    """Whether all weights are on one device, and may be offloaded."""
    return settings.devices == 1 and not settings.drop_text_encoders


def computation_alternatives(profile: Profile, settings: RunSettings) -> Iterator[Alternative]:
    """Alternatives that change the computation without another count."""
    if settings.attention == "math":
        yield Alternative("fused attention", "attention", NO_RISK, {"attention": "sdpa"})
    if not settings.compiled:
        yield Alternative("compile", "compile", NO_RISK, {"compiled": True}, needs=lambda own: own.offload == "none")
    if not settings.skip_rate and profile.steps.count >= 10 and can_cache(profile):
        yield Alternative(f"cache that skips {CACHE_RATE:.0%}", "cache", MEDIUM, {"skip_rate": CACHE_RATE})
    if settings.devices == 1 and can_share(profile):
        for number in (2, 4):
            yield Alternative(
                f"{number} devices", "devices", NO_RISK, {"devices": number}, needs=_can_be_shared,
            )  # fmt: skip


def _can_be_shared(settings: RunSettings) -> bool:
    return (
        _is_placed_nowhere(replace(settings, devices=1))
        and _is_resident(settings)
        and not (settings.layerwise or settings.quantize)
    )


CACHE_RATE = 0.3
FEWER_STEPS = 0.6
SOLVER, SOLVER_STEPS = "DPMSolverMultistepScheduler", 20
GUIDED_SHARE = 0.6
BATCH = 4
MOST_SIBLINGS = 3
SIZE_ARGUMENTS = ("height", "width", "num_frames", "num_images_per_prompt")


def request_alternatives(profile: Profile, request: Request) -> Iterator[Alternative]:
    """Alternatives that change the request, and need another count."""
    yield from _fewer_steps(profile)
    if profile.request.pipeline in GUIDED_UNTIL and not request.changes and _is_guided(profile):
        yield Alternative(
            f"guidance in the first {GUIDED_SHARE:.0%} of the steps", "guidance", LOW,
            rewrite=lambda own: replace(own, changes=Changes(guidance_interval=(0.0, GUIDED_SHARE))),
        )  # fmt: skip
    if any(part.dtype == "float32" and part.role == "denoiser" for part in profile.components.values()):
        yield Alternative("dtype float16", "dtype", LOW, rewrite=lambda own: replace(own, dtype="float16"))
    for switch, risk in (("vae_tiling", LOW), ("vae_slicing", NO_RISK)):
        if switch not in request.enable and can_tile(profile) and (switch == "vae_tiling" or _images(profile) > 1):
            yield Alternative(switch.replace("_", " "), switch, risk, rewrite=_switch_rewrite(switch))
    # A pipeline without the argument has no value for it.
    if profile.request.value("num_images_per_prompt") == 1 and find_media(profile) == "image":
        yield Alternative(f"batch {BATCH}", "batch", NO_RISK, rewrite=_with(num_images_per_prompt=BATCH))


def _switch_rewrite(switch: str) -> Rewrite:
    return lambda own: replace(own, enable=(*own.enable, switch))


def _with(**arguments: Any) -> Rewrite:
    return lambda own: own.with_arguments(arguments)


def _fewer_steps(profile: Profile) -> Iterator[Alternative]:
    asked = profile.request.value("num_inference_steps")
    stage = profile.steps.main
    if not isinstance(asked, int) or stage is None or asked < 10:
        return
    fewer = max(1, round(FEWER_STEPS * asked))
    yield Alternative(f"{fewer} steps", "steps", MEDIUM, rewrite=_with(num_inference_steps=fewer))
    is_flow = stage.scheduler.startswith("FlowMatch")
    if not is_flow and stage.scheduler != SOLVER and asked > SOLVER_STEPS and can_swap_scheduler(profile):
        yield Alternative(
            f"{SOLVER_STEPS} steps of {SOLVER}", "steps", LOW,
            rewrite=lambda own: replace(own.with_arguments({"num_inference_steps": SOLVER_STEPS}), scheduler=SOLVER),
        )  # fmt: skip


def _is_guided(profile: Profile) -> bool:
    scale = profile.request.value("guidance_scale")
    return isinstance(scale, int | float) and scale > 1


def _images(profile: Profile) -> int:
    number = profile.request.value("num_images_per_prompt")
    return number if isinstance(number, int) and number > 0 else 1


def find_media(profile: Profile) -> str:
    """The media of the model: image, video or audio; empty for an unknown model."""
    entry = find(profile.request.model)
    return entry.media if entry else ""


def siblings(profile: Profile, request: Request, accelerator: Accelerator) -> Iterator[Alternative]:
    """Models for the same task with less work: distilled ones of the family first, then smaller and newer ones."""
    own = find(profile.request.model)
    if own is None or not own.task:
        return
    others = [head for head in heads() if head.task == own.task and head.path.stem != own.name]
    family = sorted(_lighter([head for head in others if head.family == own.family], own), key=_work)
    newer = _newer([head for head in others if head.family != own.family and head.year >= (own.year or 0)], own)
    found = list(islice(chain(family[:2], newer), MOST_SIBLINGS))
    for entry in found:
        if not any(_is_much_smaller(other, entry) for other in found):
            dtype = dtype_on(entry.name, None, [accelerator])
            yield Alternative(entry.name, "model", HIGH, rewrite=_for_model(entry, request, profile, dtype))


MUCH_LESS = 0.5


def _is_much_smaller(one: Entry, other: Entry) -> bool:
    """Whether a model has fewer parameters than another and at most half of its work, which then is no option."""
    return one.parameters < other.parameters and _work(one) <= MUCH_LESS * _work(other)


def _newer(others: Sequence[Head], own: Entry) -> Iterator[Entry]:
    """The lighter ones, the newest first and of one year the largest; older ones are read only if they are needed."""
    for _, same in groupby(sorted(others, key=lambda head: -head.year), key=lambda head: head.year):
        yield from sorted(_lighter(same, own), key=lambda entry: -_work(entry))


def _lighter(heads: Iterable[Head], own: Entry) -> Iterator[Entry]:
    entries = (head.entry() for head in heads)
    return (entry for entry in entries if not entry.inputs and _work(entry) < _work(own))


def _work(entry: Entry) -> float:
    """The approximate cost of one generation: parameters of the denoiser times steps."""
    steps = entry.recommended.get("num_inference_steps", 40)
    return entry.parameters * (steps if isinstance(steps, int) else 40)


def _for_model(entry: Entry, request: Request, profile: Profile, dtype: str | None) -> Rewrite:
    """A request for another model at the requested size, with its own recommended settings."""
    recommended = set(profile.request.recommended)
    asked = {
        name: value for name, value in request.arguments.items() if name in SIZE_ARGUMENTS and name not in recommended
    }
    return lambda own: Request.create(entry.name, asked, dtype=dtype)
