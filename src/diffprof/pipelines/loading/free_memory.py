"""Whether a model fits into the memory of this machine, checked before it is fetched and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffprof.errors import DiffprofError
from diffprof.pipelines.loading.placement import CPU, Target
from diffprof.pipelines.machine_memory import available_bytes


def check_memory(name: str, weights: Mapping[str, int], activations: int, target: Target, random: bool) -> None:
    """Compare what the pipeline needs with what is free; `weights` are bytes by component."""
    for place, (held, working) in _required_bytes(weights, activations, target, random).items():
        free = free_bytes(place)
        if free is not None and held + working > free:
            working_too = f" and about {_megabytes(working)} for what it computes" if working else ""
            raise DiffprofError(
                f"{name} does not fit: it needs {_megabytes(held)} on {place} for its weights{working_too}, "
                f"and {_megabytes(free)} are free; {_remedy(target)}"
            )


def free_bytes(device: torch.device) -> int | None:
    """Memory of the device that this process can have now; None where the device does not say.

    Beside what the driver has left, that is what torch's allocator holds and does not use.
    """
    if device.type in ("cpu", "mps"):  # Metal computes in the memory of the host
        return available_bytes()
    backend: Any = getattr(torch, device.type, None)
    memory_info = getattr(backend, "mem_get_info", None)
    if memory_info is None:
        return None
    try:
        free = int(memory_info(device)[0])
    except RuntimeError:  # as of an Intel GPU whose driver does not tell it
        return None
    if not hasattr(backend, "memory_reserved"):
        return free
    return free + max(int(backend.memory_reserved(device)) - int(backend.memory_allocated(device)), 0)


def _required_bytes(
    weights: Mapping[str, int], activations: int, target: Target, random: bool
) -> dict[torch.device, tuple[int, int]]:
    """For each device the bytes of weights that it holds at one time, and those of what is computed there."""
    device, offload = target.device, target.offload
    total, largest = sum(weights.values()), max(weights.values(), default=0)
    if device.type in ("cpu", "mps"):
        return {device: (total, activations)}
    if target.spread:
        return {CPU: (total, 0)}  # what goes where is decided when all is there
    if offload is None:
        # One component after the other passes through the host, unless its weights are made on the device.
        return {CPU: (0 if random else largest, 0), device: (total, activations)}
    return {CPU: (total, 0), device: (largest if offload == "model" else 0, activations)}


def _remedy(target: Target) -> str:
    if target.device.type in ("cpu", "mps") or target.offload is not None:
        return "use a smaller dtype, size or batch, or another machine"
    return "use --offload, or a smaller dtype, size or batch"


def _megabytes(number: int) -> str:
    return f"{-(-number // 10**6):,} MB"
