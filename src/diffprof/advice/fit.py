"""Predict whether a generation fits on a device, and what would make it fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diffprof.advice.abilities import check_sharing
from diffprof.advice.dtypes import dtype_assumption, dtype_on
from diffprof.advice.fit_changes import NeededMemory, changes_that_fit
from diffprof.advice.outcome import Outcome, fitting_outcome, outcome_of
from diffprof.advice.sizes import memory_option, parse_memory
from diffprof.advice.sources import Source, open_source, source_of_profile
from diffprof.catalogue.accelerators import Accelerator, find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.prediction.cast_weights import kept_on_device
from diffprof.prediction.device_memory import DeviceMemory, device_memory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.resolving import resolve_settings
from diffprof.prediction.timeline import has_allocations
from diffprof.record.execution import execution_of
from diffprof.record.fit import Change, Fit
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from diffprof.settings.limits import dtype_name


@dataclass(frozen=True)
class FitRequest:
    """The device, and how the weights are stored."""

    accelerator: str | None = None
    memory_bytes: int | None = None
    """The memory of a device that is not named."""
    ram_bytes: int | None = None
    settings: RunSettings = field(default_factory=RunSettings)
    file: Path | None = None
    """A file with the user's own accelerators."""
    dtype: str | None = None
    """The requested dtype; accelerators that do not support it are refused."""
    with_changes: bool = True

    def check(self) -> None:
        """Refuse an unknown accelerator, or one that does not support the dtype, before anything is counted."""
        _check_dtype(_accelerator(self), self.dtype)


def fit_profile(profile: Profile, request: FitRequest | None = None, source: Source | None = None) -> Fit:
    """Predict whether the generation of a profile fits; with a `source`, also try changes that need another count."""
    request = request or FitRequest()
    if not has_allocations(profile):
        raise RequestError(
            "This profile was saved by an earlier version, without its allocations; count the model again."
        )
    request = replace(request, settings=resolve_settings(profile, request.settings))
    check_sharing(profile, request.settings)
    accelerator = _accelerator(request)
    _check_dtype(accelerator, request.dtype)
    device = device_memory(accelerator, request.memory_bytes)
    _check_memory(profile, device)
    known = KnownCalls()
    outcome = outcome_of(profile, request.settings, device, request.ram_bytes, known)
    changes = _changes(profile, request, source, device, outcome, known) if outcome.fits is False else ()
    return Fit(
        model=profile.request.model,
        peak=outcome.peak,
        stages=outcome.stages,
        host=outcome.host,
        fits=outcome.fits,
        changes=changes,
        assumptions=(*_dtype_lines(profile, accelerator), *memory_assumptions(profile, request.settings, device)),
        settings=request.settings,
        accelerator=accelerator.name if accelerator else None,
        memory_bytes=device.memory_bytes,
        usable_bytes=device.usable_bytes,
        ram_bytes=request.ram_bytes,
        request=profile.request,
        execution=execution_of(profile),
    )


def _changes(
    profile: Profile,
    request: FitRequest,
    source: Source | None,
    device: DeviceMemory,
    outcome: Outcome,
    known: KnownCalls,
) -> tuple[Change, ...]:
    """The changes with which it fits, if the request asks for them."""
    if not request.with_changes:
        return ()
    return changes_that_fit(
        source or replace(source_of_profile(profile), count=_count_nothing),
        request.settings,
        _accelerator(request),
        lambda other, settings: fitting_outcome(other, settings, device, request.ram_bytes, known),
        NeededMemory(outcome.stages, device.capacity_bytes),
        _device_words(request),
    )


def _dtype_lines(profile: Profile, accelerator: Accelerator | None) -> list[str]:
    line = dtype_assumption(profile, accelerator) if accelerator else None
    return [line] if line else []


def _count_nothing(request: Request) -> Profile:
    raise RequestError("There is only this profile.")


def _device_words(request: FitRequest) -> list[str]:
    """The options that name the device and the host."""
    words = ["--gpu", request.accelerator] if request.accelerator else []
    return [*words, *memory_option("--memory", request.memory_bytes), *memory_option("--ram", request.ram_bytes)]


def _accelerator(request: FitRequest) -> Accelerator | None:
    if request.accelerator is not None and request.memory_bytes is not None:
        raise RequestError("--gpu already sets the memory; leave out --memory.")
    if request.accelerator is None:
        return None
    if "," in request.accelerator:
        raise RequestError(f"A fit is for one accelerator, not for {request.accelerator}; name one of them.")
    return find_accelerator(request.accelerator, known_accelerators(request.file))


def _check_dtype(accelerator: Accelerator | None, dtype: str | None) -> None:
    if accelerator is None or dtype is None or dtype in accelerator.peak_flops_per_second or dtype == "float64":
        return
    known = ", ".join(accelerator.peak_flops_per_second)
    raise RequestError(f"{accelerator.name} does not compute in {dtype}; use one of {known}.")


def _check_memory(profile: Profile, device: DeviceMemory) -> None:
    """Refuse a device that cannot hold the largest layer, or not even its own context."""
    capacity = device.capacity_bytes
    if capacity is None:
        return
    largest, path = 0, ""
    for slot, component in profile.components.items():
        elements = component.parameters + component.buffers
        each = component.weight_bytes / elements if elements else 0
        for module in component.modules:
            if module.parameters * each > largest:
                largest, path = round(module.parameters * each), f"{slot}.{module.path}"
    if capacity < largest:
        raise RequestError(
            f"No device with so little memory can run this: the layer {path} alone takes {largest:,} bytes, "
            f"and {max(0, capacity):,} are left for PyTorch."
        )


def memory_assumptions(profile: Profile, settings: RunSettings, device: DeviceMemory) -> tuple[str, ...]:
    """The assumptions of predicted memory, as sentences."""
    lines = [
        f"the CUDA context takes {device.context_bytes // 1024**2} MiB, as usual for "
        f"{device.architecture or 'recent devices'}",
        "cuDNN copies what goes in and out of a convolution into the layout of its kernels, if there is memory for it",
        "attention runs in a fused kernel" if settings.attention == "sdpa" else "attention keeps all scores in memory",
        "nothing else uses the device",
        "PyTorch's allocator has its default settings",
    ]
    if device.name is None and device.memory_bytes is not None:
        lines.append("all of the memory that is named can be used")
    elif device.usable_bytes is not None:
        lines.append(
            "the driver keeps 160 MiB and 0.8 % of a card's memory, 7 % where GDDR memory keeps its own check bits"
        )
    if settings.compiled:
        lines.append("compiled code needs as much memory as eager code: published peaks of both are equal")
    if settings.quantize or settings.layerwise:
        lines.append("linear layers are quantized, nothing else; layers of 8 bits and less are unpacked one at a time")
    if settings.without:
        lines.append(f"{', '.join(settings.without)}: not loaded and not called")
    if settings.offload == "group" and settings.use_stream and settings.blocks_per_group > 1:
        lines.append("with a stream, diffusers moves one block at a time; --blocks-per-group counts with --no-stream")
    lines += [
        f"{slot} stays on the device: the pipeline casts it to float32, and a stream would bring it back in float16"
        for slot in kept_on_device(profile, settings)
    ]
    if settings.devices > 1:
        lines.append("the denoiser's activations are shared equally by the devices; each has all weights")
    lines.append("weights are read from safetensors files into the host's memory before they are moved")
    return (*lines, *profile.ledger.assumptions)


def fit(
    model: Any,
    *,
    gpu: str | None = None,
    memory: str | int | None = None,
    ram: str | int | None = None,
    offload: str = "none",
    use_stream: bool = True,
    blocks_per_group: int = 1,
    quantize: str | Mapping[str, str] | None = None,
    layerwise: str | Mapping[str, str] | None = None,
    drop_text_encoders: bool = False,
    attention: str = "sdpa",
    compile: bool = False,
    devices: int = 1,
    skip_rate: float = 0.0,
    without: str | Sequence[str] = (),
    dtype: Any = None,
    scheduler: str | None = None,
    enable: str | Sequence[str] = (),
    **arguments: Any,
) -> Fit:
    """Predict whether one call of a pipeline fits on an accelerator, where its peak is, and what would make it fit.

    `model` is a name, a hub id, a folder, a saved profile or its file, or a live pipeline; `gpu` is the name of an
    accelerator, or `memory` the memory of a device (``"24GB"``, or bytes). All other arguments are those of
    `diffprof.profile`: those of the pipeline's own call, ``steps``, `lora`, `guidance_interval` and the like.
    """
    settings = RunSettings.create(
        offload=offload, use_stream=use_stream, blocks_per_group=blocks_per_group, quantize=quantize,
        layerwise=layerwise, drop_text_encoders=drop_text_encoders, attention=attention, compiled=compile,
        devices=devices, skip_rate=skip_rate, without=without,
    )  # fmt: skip
    request = FitRequest(
        gpu, parse_memory("memory", memory), parse_memory("ram", ram), settings, dtype=dtype_name(dtype)
    )
    accelerator = _accelerator(request)
    dtype = dtype_on(model, dtype, [accelerator] if accelerator else [])
    source = open_source(model, arguments, dtype=dtype, scheduler=scheduler, enable=enable)
    return fit_profile(source.profile, request, source)
