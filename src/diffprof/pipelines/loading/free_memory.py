"""Check whether a model fits into the memory of this machine, before it is downloaded and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffprof.errors import DiffprofError
from diffprof.pipelines.loading.placement import CPU, Target
from diffprof.pipelines.machine_memory import available_bytes


def check_memory(name: str, weights: Mapping[str, int], activations: int, target: Target, random: bool) -> None:
    """Compare the memory that the pipeline needs with the free memory; `weights` are bytes by component."""
    for place, (held, working) in _required_bytes(weights, activations, target, random).items():
        free = free_bytes(place)
        if free is not None and held + working > free:
            working_too = f" and about {_megabytes(working)} for what it computes" if working else ""
            raise DiffprofError(
                f"{name} does not fit: it needs {_megabytes(held)} on {place} for its weights{working_too}, "
                f"and {_megabytes(free)} are free; {_remedy(target)}"
            )


def free_bytes(device: torch.device) -> int | None:
    """Return the memory of the device that this process can use now; None if the device does not report it.

    This is the free memory of the driver plus the unused memory of torch's allocator.
    """
    if device.type in ("cpu", "mps"):  # Metal uses the memory of the host
        return available_bytes()
    backend: Any = getattr(torch, device.type, None)
    memory_info = getattr(backend, "mem_get_info", None)
    if memory_info is None:
        return None
    try:
        free = int(memory_info(device)[0])
    except RuntimeError:  # for example an Intel GPU whose driver does not report it
        return None
    if not hasattr(backend, "memory_reserved"):
        return free
    return free + max(int(backend.memory_reserved(device)) - int(backend.memory_allocated(device)), 0)


def _required_bytes(
    weights: Mapping[str, int], activations: int, target: Target, random: bool
) -> dict[torch.device, tuple[int, int]]:
    """Return for each device the most bytes of weights at one time, and the bytes of activations."""
    device, offload = target.device, target.offload
    total, largest = sum(weights.values()), max(weights.values(), default=0)
    if device.type in ("cpu", "mps"):
        return {device: (total, activations)}
    if target.spread:
        return {CPU: (total, 0)}  # the distribution is decided when everything is loaded
    if offload is None:
        # Components pass through the host one by one, unless their weights are created on the device.
        return {CPU: (0 if random else largest, 0), device: (total, activations)}
    return {CPU: (total, 0), device: (largest if offload == "model" else 0, activations)}


def _remedy(target: Target) -> str:
    if target.device.type in ("cpu", "mps") or target.offload is not None:
        return "use a smaller dtype, size or batch, or another machine"
    return "use --offload, or a smaller dtype, size or batch"


def _megabytes(number: int) -> str:
    return f"{-(-number // 10**6):,} MB"
