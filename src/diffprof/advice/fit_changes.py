"""What would make a generation fit: changes, alone and together, in order of what they cost in time."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diffprof.errors import DiffprofError
from diffprof.prediction.weights import compute_dtype, least_weight_bytes
from diffprof.record.changes import EVERY
from diffprof.record.fitted import Change, FitSettings, HostMemory, MemoryPeak
from diffprof.record.predicted import PredictionSettings
from diffprof.record.profile import Profile
from diffprof.settings.limits import LIMITS

if TYPE_CHECKING:
    from diffprof.catalogue.accelerators import Accelerator

Try = Callable[[Profile, FitSettings], tuple[MemoryPeak, HostMemory] | None]

MOST_CHANGES = 4

TILING, LAYERWISE, MODEL, GROUP, LEAF, SEQUENTIAL = (
    "vae_tiling", "layerwise", "offload model", "offload group", "offload group-leaf", "offload sequential",
)  # fmt: skip

USUAL_SLOWDOWNS = {
    TILING: 1.05, LAYERWISE: 1.1, MODEL: 1.5, GROUP: 1.8, LEAF: 1.8, SEQUENTIAL: 6.0,
}  # fmt: skip
"""Where no accelerator is named that could be asked how long it takes."""


@dataclass(frozen=True)
class _Candidate:
    """A combination of changes."""

    parts: tuple[str, ...]
    settings: FitSettings
    enable: tuple[str, ...]


def changes_that_fit(
    profile: Profile,
    settings: FitSettings,
    accelerator: Accelerator | None,
    attempt: Try,
    recount: Callable[[tuple[str, ...]], Profile] | None,
    capacity: int | None = None,
    device: Sequence[str] = (),
) -> tuple[Change, ...]:
    """The smallest changes with which the generation fits, the quickest first; a larger one only if it is needed.

    `capacity` is what PyTorch can have of the device; `device` are the options that name it, for the command of each
    change.
    """
    counted: dict[tuple[str, ...], Profile | None] = {(): profile}
    found: list[Change] = []
    for candidate in sorted(_candidates(profile, settings), key=lambda each: _usual_slowdown(each.parts)):
        if any(set(change.name.split(" + ")) <= set(candidate.parts) for change in found):
            continue  # a part of it is enough
        if capacity is not None and least_weight_bytes(profile, candidate.settings) > capacity:
            continue
        other = _counted(candidate.enable, counted, recount)
        outcome = None if other is None else attempt(other, candidate.settings)
        if other is not None and outcome is not None:
            command = shlex.join([*_command(candidate, profile), *device])
            found.append(_change(candidate, other, outcome, accelerator, command))
        if len(found) == MOST_CHANGES:
            break
    return tuple(sorted(found, key=lambda change: change.slowdown))


def _counted(
    enable: tuple[str, ...],
    counted: dict[tuple[str, ...], Profile | None],
    recount: Callable[[tuple[str, ...]], Profile] | None,
) -> Profile | None:
    """The profile with these switches; None where they do not exist or cannot be counted."""
    if enable not in counted:
        try:
            counted[enable] = None if recount is None else recount(enable)
        except DiffprofError:
            counted[enable] = None  # the pipeline has no such switch
    return counted[enable]


def _candidates(profile: Profile, settings: FitSettings) -> Iterator[_Candidate]:
    denoisers = tuple(
        slot for slot, part in profile.components.items() if part.role == "denoiser" and part.weight_bytes
    )
    can_tile = TILING not in profile.request.enable
    can_cast = not settings.layerwise and not any(slot in settings.quantize for slot in denoisers) and denoisers
    tilings = [(), (TILING,)] if can_tile else [()]
    ways = {MODEL: "model", LEAF: "group-leaf", GROUP: "group", SEQUENTIAL: "sequential"}
    if settings.offload != "none":
        ways = {}
    for enable in tilings:
        for cast in (False, True) if can_cast else (False,):
            for name, offload in {"": settings.offload, **ways}.items():
                if cast and name not in ("", MODEL):
                    continue  # group and sequential offload leave too little on the device for it to matter
                parts = tuple(part for part in (*enable, LAYERWISE if cast else "", name) if part)
                changed = replace(settings, offload=offload, layerwise=denoisers if cast else settings.layerwise)
                if parts:
                    yield _Candidate(parts, changed, enable)


def _usual_slowdown(parts: tuple[str, ...]) -> float:
    slowdown = 1.0
    for part in parts:
        slowdown *= USUAL_SLOWDOWNS[part]
    return slowdown


def _change(
    candidate: _Candidate,
    profile: Profile,
    outcome: tuple[MemoryPeak, HostMemory],
    accelerator: Accelerator | None,
    command: str,
) -> Change:
    peak, host = outcome
    return Change(
        name=" + ".join(candidate.parts),
        settings=candidate.settings,
        enable=candidate.enable,
        code=code_for(candidate.parts, profile),
        slowdown=_slowdown(candidate, profile, accelerator),
        peak=peak,
        host=host,
        fits=True,
        command=command,
    )


def _slowdown(candidate: _Candidate, profile: Profile, accelerator: Accelerator | None) -> float:
    """How many times as long it takes: as `diffprof predict` says, where the accelerator is known."""
    usual = _usual_slowdown(candidate.parts)
    if accelerator is None:
        return usual
    from diffprof.advice.predict import PredictionRequest, predict_profile

    changed = PredictionSettings(
        offload=candidate.settings.offload, layerwise={EVERY: "float8_e4m3fn"} if LAYERWISE in candidate.parts else {}
    )
    times = [
        predict_profile(profile, PredictionRequest((accelerator.name,), settings)).accelerators[accelerator.name]
        for settings in (PredictionSettings(), changed)
    ]
    tiling = USUAL_SLOWDOWNS[TILING] if TILING in candidate.parts else 1.0
    return max(1.0, tiling * times[1].total_seconds / times[0].total_seconds)


def code_for(parts: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    """Lines that make these changes to the pipeline ``pipe``, which is loaded and not moved yet."""
    lines: list[str] = []
    if TILING in parts:
        lines.append("pipe.vae.enable_tiling()")
    if LAYERWISE in parts:
        lines += [
            f"pipe.{slot}.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, "
            f"compute_dtype=torch.{compute_dtype(part)})"
            for slot, part in profile.components.items()
            if part.role == "denoiser" and part.weight_bytes
        ]
    lines += [OFFLOAD_CODE[part] for part in parts if part in OFFLOAD_CODE]
    if not any(part in OFFLOAD_CODE for part in parts):
        lines.append('pipe.to("cuda")')
    return tuple(lines)


OFFLOAD_CODE = {
    MODEL: "pipe.enable_model_cpu_offload()",
    SEQUENTIAL: "pipe.enable_sequential_cpu_offload()",
    GROUP: (
        'pipe.enable_group_offload(torch.device("cuda"), offload_type="block_level", num_blocks_per_group=1, '
        "use_stream=True)"
    ),
    LEAF: 'pipe.enable_group_offload(torch.device("cuda"), offload_type="leaf_level", use_stream=True)',
}


def _command(candidate: _Candidate, profile: Profile) -> list[str]:
    """The command that says the same again."""
    request = profile.request
    words = ["diffprof", "fit", request.model]
    for name, value in request.arguments.items():
        limit = LIMITS.get(name)
        words += [limit.option, str(value)] if limit else ["--set", f"{name}={json.dumps(value)}"]
    words += ["--dtype", request.dtype] if request.dtype else []
    words += ["--scheduler", request.scheduler] if request.scheduler else []
    for switch in dict.fromkeys((*request.enable, *candidate.enable)):
        words += ["--enable", switch]
    settings = candidate.settings
    for slot, scheme in settings.quantize.items():
        words += ["--quantize", f"{slot}={scheme}"]
    words += ["--layerwise", "fp8"] if settings.layerwise else []
    words += ["--offload", settings.offload] if settings.offload != "none" else []
    words += ["--attention", settings.attention] if settings.attention != "sdpa" else []
    return words
