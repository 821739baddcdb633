"""A short prediction for a profile on an accelerator: memory, time, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.catalogue.accelerators import Accelerator
from diffprof.prediction.device import basis_of, device_of
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_on_devices import MemoryOnDevices
from diffprof.prediction.time import job_of, predict_time
from diffprof.prediction.timeline import has_allocations
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

USUAL = ("h100-sxm", "a100-sxm-80gb", "mi300x", "l40s", "rtx-5090", "rtx-4090", "rtx-3090", "l4", "t4")
"""The accelerators that are shown if none is named."""


@dataclass(frozen=True)
class OnAccelerator:
    """The prediction for one generation in eager mode with all weights on the device."""

    accelerator: str
    """The name of the accelerator; empty for memory on no particular device."""
    device_bytes: int | None
    """Memory as nvidia-smi shows it; None if the profile has no allocations."""
    fits: bool | None = None
    total_seconds: float | None = None
    low_seconds: float | None = None
    high_seconds: float | None = None


def on_accelerator(profile: Profile, accelerator: Accelerator | None) -> OnAccelerator:
    """Predict for one accelerator; without one, only the memory, which is nearly the same on all."""
    device_bytes, fits = _memory(profile, accelerator)
    if accelerator is None:
        return OnAccelerator("", device_bytes)
    basis = "measured" if accelerator.measured else basis_of(accelerator)
    time = predict_time(job_of(profile), device_of(accelerator), basis)
    return OnAccelerator(accelerator.name, device_bytes, fits, time.total_seconds, time.low_seconds, time.high_seconds)


def on_accelerators(profile: Profile, accelerators: Sequence[Accelerator]) -> tuple[OnAccelerator, ...]:
    """Predict for several accelerators; memory is that on the first, whether it fits is predicted for each."""
    job = job_of(profile)
    needed = MemoryOnDevices(profile, RunSettings()) if has_allocations(profile) else None
    device_bytes = _device_bytes(needed, accelerators[0]) if needed else None
    found = []
    for entry in accelerators:
        time = predict_time(job, device_of(entry), "measured" if entry.measured else basis_of(entry))
        found.append(
            OnAccelerator(
                entry.name,
                device_bytes,
                needed.fits(device_memory(entry)) if needed else None,
                time.total_seconds,
                time.low_seconds,
                time.high_seconds,
            )
        )
    return tuple(found)


def _device_bytes(needed: MemoryOnDevices, accelerator: Accelerator) -> int:
    stages, _ = needed.on(device_memory(accelerator))
    return max(stage.device_bytes for stage in stages)


def _memory(profile: Profile, accelerator: Accelerator | None) -> tuple[int | None, bool | None]:
    if not has_allocations(profile):
        return None, None
    stages, fits = MemoryOnDevices(profile, RunSettings()).on(device_memory(accelerator))
    return max(stage.device_bytes for stage in stages), fits
