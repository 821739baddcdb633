"""Where a pipeline runs, and where its weights are kept: the device and diffusers' offload modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.loading.ranks import device_of_rank, this_rank
from diffprof.settings.limits import OFFLOADS

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Target:
    """The device of a pipeline, and the mode of offloading its weights, if any."""

    device: torch.device
    offload: str | None = None
    spread: bool = False
    """Whether components are distributed over several devices, from the CPU."""

    @property
    def weights_on(self) -> torch.device:
        """The device that the weights are loaded to."""
        return CPU if self.offload or self.spread else self.device


def target_of(device: str | None, offload: str | None, spread: bool = False) -> Target:
    """Return the requested device and offload mode; refuse those that this machine lacks or that make no sense."""
    target = Target(device_of_rank(requested_device(device), this_rank()), offload, spread)
    if offload is not None and offload not in OFFLOADS:
        raise RequestError(f"unknown offload mode {offload!r}; there are {', '.join(OFFLOADS)}")
    if offload in ("model", "sequential") and target.device.type == "cpu":
        raise RequestError(
            f"--offload {offload} moves weights between the CPU and an accelerator, but the pipeline runs on the CPU; "
            "leave it out"
        )
    return target


def place_pipeline(pipeline: Any, target: Target) -> None:
    """Move the pipeline to the device, or let diffusers move its parts there when they are needed."""
    device, offload = target.device, target.offload
    try:
        if offload == "model":
            pipeline.enable_model_cpu_offload(device=device)
        elif offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=device)
        elif offload == "group":
            use_stream = device.type == "cuda"
            kept = _cast_while_running(pipeline) if use_stream else []
            pipeline.enable_group_offload(
                device, offload_type="leaf_level", use_stream=use_stream, exclude_modules=kept
            )
        else:
            pipeline.to(device)
    except Exception as error:
        way = f"offload by {offload}" if offload else f"run on {device}"
        raise PipelineError(f"{type(pipeline).__name__} cannot {way}: {error}") from error


def _cast_while_running(pipeline: Any) -> list[str]:
    """The components that the pipeline casts to float32, as SDXL its VAE; a stream would undo that."""
    return [
        name
        for name, part in pipeline.components.items()
        if getattr(getattr(part, "config", None), "force_upcast", False) and part.dtype == torch.float16
    ]


def requested_device(name: str | None) -> torch.device:
    """Return the device of that name; by default the accelerator of this machine, or its CPU."""
    if name is None:
        found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        return found if found is not None else CPU
    try:
        device = torch.device(name)
    except RuntimeError:
        raise RequestError(f"unknown device {name!r}; use cpu, cuda, cuda:1, mps or xpu") from None
    if device.type == "cpu":
        return CPU
    backend: Any = getattr(torch, device.type, None)
    if backend is None or not hasattr(backend, "is_available") or not backend.is_available():
        raise RequestError(
            f"this machine has no {device.type} device that torch can use; leave out --device or use cpu"
        )
    count = backend.device_count()
    if device.index is not None and device.index >= count:
        raise RequestError(f"there is no device {device}: this machine has {count} of that kind, counted from 0")
    return device
