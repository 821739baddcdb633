"""Find changes that make a generation fit: the smallest ones, alone and combined, ordered by their cost in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from diffprof.advice.abilities import can_tile
from diffprof.advice.code import ENCODED, program
from diffprof.advice.commands import command_line
from diffprof.advice.outcome import Outcome
from diffprof.advice.sources import Source
from diffprof.prediction.weights import component_weights
from diffprof.record.fit import LOAD, Change, StageMemory
from diffprof.record.profile import Component, Profile
from diffprof.record.run_settings import RunSettings

if TYPE_CHECKING:
    from diffprof.catalogue.accelerators import Accelerator
    from diffprof.prediction.device import DeviceModel
    from diffprof.prediction.time import Job

Try = Callable[[Profile, RunSettings], Outcome | None]

MOST_CHANGES, ENOUGH_CHANGES = 6, 2
TILING = "vae_tiling"
LAYERWISE_DTYPE = "float8_e4m3fn"
SMALL_SHARE = 0.05
"""A component with a smaller share of all weights is not worth quantizing."""

SLOWDOWNS = {
    TILING: 1.05, "drop_text_encoders": 1.001, "layerwise": 1.1, "torchao:int8": 1.2, "bitsandbytes:nf4": 1.25,
    "model": 1.5, "group": 1.8, "group-leaf": 1.8, "sequential": 6.0,
}  # fmt: skip
"""Typical slowdowns: they set the order of attempts, and are shown if no accelerator is named."""


@dataclass(frozen=True)
class Step:
    """One change: its name, and its effect on the settings."""

    name: str = ""
    slowdown: float = 1.0
    settings: Mapping[str, object] = field(default_factory=dict)
    enable: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    """Weaker changes of the same kind; if one of them is enough, this one is not needed."""


@dataclass(frozen=True)
class NeededMemory:
    """The memory of each stage without changes, and that of the device."""

    stages: tuple[StageMemory, ...]
    capacity: int | None

    def can_fit(self, profile: Profile, steps: Sequence[Step], settings: RunSettings) -> bool:
        """Whether the changes may be enough.

        A quick check that avoids simulating the allocator if the answer is clear.
        """
        if self.capacity is None or settings.offload not in ("none", "model"):
            return True
        is_tiled = any(TILING in step.enable for step in steps)
        return self.least_bytes(profile, settings, is_tiled) <= self.capacity

    def least_bytes(self, profile: Profile, settings: RunSettings, is_tiled: bool = False) -> int:
        """A lower bound of the memory with other settings: required weights, and tensors that none makes smaller."""
        sizes = {slot: component_weights(part, settings).total_bytes for slot, part in profile.components.items()}
        most = 0
        for stage in self.stages:
            weights = 0
            if settings.offload == "model":
                weights = sizes.get(stage.component, 0)
            elif settings.offload == "none":
                weights = sum(
                    sizes[slot] for slot in stage.weights if not _is_dropped(profile, slot, stage, settings)
                )  # fmt: skip
            is_cut = is_tiled and profile.components.get(stage.component, _NONE).role == "vae"
            tensors = 0 if is_cut else stage.activation_bytes + stage.kept_bytes
            most = max(most, weights + tensors)
        return most


_NONE = Component("", "", "", "", 0, 0, 0)


def _is_dropped(profile: Profile, slot: str, stage: StageMemory, settings: RunSettings) -> bool:
    if not settings.drop_text_encoders:
        return False
    is_encoder = profile.components[slot].role == "text_encoder"
    return stage.stage == LOAD or is_encoder != (stage.stage == "encode")


def changes_that_fit(
    source: Source,
    settings: RunSettings,
    accelerator: Accelerator | None,
    attempt: Try,
    needed: NeededMemory,
    device: Sequence[str] = (),
) -> tuple[Change, ...]:
    """The smallest changes with which the generation fits, the fastest first.

    `device` are the options that name the device, for the command of each change.
    """
    clock = _Clock(source.profile, settings, accelerator)
    found: list[tuple[Sequence[Step], Change]] = []
    combinations = sorted(_combinations(source.profile, settings), key=usual_slowdown)
    # Changes that need another count take seconds, so they come last, and only if there is hardly anything else.
    for steps in sorted(combinations, key=_needs_a_count):
        if len(found) == MOST_CHANGES or (len(found) >= ENOUGH_CHANGES and _needs_a_count(steps)):
            break
        if any(_is_part(smaller, steps) for smaller, _ in found):
            continue
        change = _try_change(source, settings, steps, attempt, needed, clock, device)
        if change is not None:
            found.append((steps, change))
    return tuple(sorted((change for _, change in found), key=lambda change: change.slowdown))


def _needs_a_count(steps: Sequence[Step]) -> bool:
    return any(step.enable for step in steps)


def _try_change(
    source: Source,
    settings: RunSettings,
    steps: Sequence[Step],
    attempt: Try,
    needed: NeededMemory,
    clock: _Clock,
    device: Sequence[str],
) -> Change | None:
    """The change that these steps make together; None if the generation still does not fit."""
    changed = settings_after(settings, steps)
    if not needed.can_fit(source.profile, steps, changed):
        return None
    enable = tuple(switch for step in steps for switch in step.enable)
    request = replace(source.request, enable=(*source.request.enable, *enable))
    other = source.variant(request)
    outcome = None if other is None else attempt(other, changed)
    if other is None or outcome is None:
        return None
    return Change(
        name=" + ".join(step.name for step in steps),
        settings=changed,
        enable=enable,
        code=program(other, request, changed),
        slowdown=clock.slowdown(other, changed, usual_slowdown(steps)),
        peak=outcome.peak,
        host=outcome.host,
        fits=True,
        command=command_line("fit", request, changed, device),
    )


def _is_part(smaller: Sequence[Step], larger: Sequence[Step]) -> bool:
    """Whether the smaller set of steps is contained in the larger, which is then unnecessary."""
    names = {name for step in larger for name in (step.name, *step.covers)}
    return all(step.name in names for step in smaller)


def usual_slowdown(steps: Sequence[Step]) -> float:
    """The typical slowdown of these steps on no particular accelerator."""
    slowdown = 1.0
    for step in steps:
        slowdown *= step.slowdown
    return slowdown


def settings_after(settings: RunSettings, steps: Sequence[Step]) -> RunSettings:
    """The settings after applying the steps."""
    for step in steps:
        given = dict(step.settings)
        for name in ("quantize", "layerwise"):
            if name in given:
                given[name] = {**getattr(settings, name), **given[name]}  # type: ignore[dict-item]
        settings = replace(settings, **given)  # type: ignore[arg-type]
    return settings


def _combinations(profile: Profile, settings: RunSettings) -> Iterator[tuple[Step, ...]]:
    nothing = Step()
    cannot_tile = TILING in profile.request.enable or not can_tile(profile)
    tilings = [nothing] if cannot_tile else [nothing, Step(TILING, SLOWDOWNS[TILING], {}, (TILING,))]
    denoisers = [nothing, *packed_denoisers(profile, settings)]
    encoders = [nothing, *packed_encoders(profile, settings)]
    offloads = [nothing] if settings.offload != "none" else [nothing, *offload_steps()]
    for combination in product(tilings, denoisers, encoders, offloads):
        steps = tuple(step for step in combination if step is not nothing)
        is_grouped = combination[3].name in ("offload group", "offload group-leaf", "offload sequential")
        is_packed = combination[1] is not nothing or combination[2] is not nothing
        is_dropped = "drop_text_encoders" in combination[2].settings and combination[3] is not nothing
        # With group and sequential offload, too few weights are on the device for quantization to matter.
        if steps and not (is_grouped and is_packed) and not is_dropped:
            yield steps


def packed_denoisers(profile: Profile, settings: RunSettings) -> Iterator[Step]:
    """Steps that store the denoisers in 8 bits (a feature of diffusers), then in 4."""
    slots = [slot for slot in _large(profile, "denoiser") if slot not in settings.quantize]
    if not slots or any(slot in settings.layerwise for slot in slots):
        return
    yield Step("layerwise fp8", SLOWDOWNS["layerwise"], {"layerwise": dict.fromkeys(slots, LAYERWISE_DTYPE)})
    for scheme, covers in (("torchao:int8", ("layerwise fp8",)), ("bitsandbytes:nf4", ("layerwise fp8", "int8"))):
        kind = scheme.partition(":")[2]
        others = tuple(_packing_name(slots, name) if name == "int8" else name for name in covers)
        yield Step(
            _packing_name(slots, kind), SLOWDOWNS[scheme], {"quantize": dict.fromkeys(slots, scheme)}, (), others
        )


def packed_encoders(profile: Profile, settings: RunSettings) -> Iterator[Step]:
    """Steps that delete the text encoders after use, or quantize them; they run once, so this takes little time."""
    if settings.drop_text_encoders:
        return
    slots = [slot for slot in _large(profile, "text_encoder") if slot not in settings.quantize]
    can_drop = profile.request.pipeline in ENCODED and settings.offload == "none"
    if slots and can_drop:
        yield Step("drop text encoders", SLOWDOWNS["drop_text_encoders"], {"drop_text_encoders": True})
    if slots:
        eight = _packing_name(slots, "int8")
        yield Step(eight, 1.002, {"quantize": dict.fromkeys(slots, "torchao:int8")})
        yield Step(
            _packing_name(slots, "nf4"), 1.003, {"quantize": dict.fromkeys(slots, "bitsandbytes:nf4")}, (), (eight,)
        )


def offload_steps() -> Iterator[Step]:
    """Every way to offload; group offload of single layers needs less memory than others that are no faster."""
    for way in ("model", "group-leaf", "group", "sequential"):
        covers = ("offload group-leaf",) if way in ("group", "sequential") else ()
        yield Step(f"offload {way}", SLOWDOWNS[way], {"offload": way}, (), covers)


def _packing_name(slots: Sequence[str], kind: str) -> str:
    return " + ".join(f"quantize {slot}={kind}" for slot in slots)


def _large(profile: Profile, role: str) -> list[str]:
    most = sum(part.weight_bytes for part in profile.components.values())
    return [
        slot
        for slot, part in profile.components.items()
        if part.role == role and part.weight_bytes > SMALL_SHARE * most
    ]


class _Clock:
    """Predicts the slowdown of a change, if the accelerator is known."""

    def __init__(self, profile: Profile, settings: RunSettings, accelerator: Accelerator | None) -> None:
        self.requested = (profile, settings)
        self.accelerator = accelerator
        self._last: Job | None = None

    def slowdown(self, profile: Profile, settings: RunSettings, usual: float) -> float:
        if self.accelerator is None:
            return usual
        return max(1.0, self._seconds(profile, settings) / self._before)

    @cached_property
    def _before(self) -> float:
        return self._seconds(*self.requested)

    @cached_property
    def _device(self) -> DeviceModel:
        from diffprof.prediction.device import device_of

        assert self.accelerator is not None, "called only if it is known"
        return device_of(self.accelerator)

    def _seconds(self, profile: Profile, settings: RunSettings) -> float:
        from diffprof.prediction.time import job_of, predict_time

        self._last = job_of(profile, settings, self._last)
        return predict_time(self._last, self._device).total_seconds
