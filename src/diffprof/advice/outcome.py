"""The memory that a generation needs with some settings, and whether a device has it."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.host_memory import predict_host_memory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.memory_on_devices import peak_of_stages
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.fit import HostMemory, MemoryPeak, StageMemory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings


@dataclass(frozen=True)
class Outcome:
    """The memory that some settings need."""

    stages: tuple[StageMemory, ...]
    peak: MemoryPeak
    host: HostMemory
    fits: bool | None


def outcome_of(
    profile: Profile,
    settings: RunSettings,
    device: DeviceMemory,
    ram_bytes: int | None,
    known: KnownCalls | None = None,
) -> Outcome:
    """The memory that the settings need, and whether it fits; `known` calls are not simulated again.

    If the device has too little, it is as much as would be needed.
    """
    stages = _fitting_stages(profile, settings, device, known)
    is_small = stages is None
    if stages is None:
        stages = predict_memory(profile, settings, device, known=known)
    host = predict_host_memory(profile, settings)
    fits = None if device.capacity_bytes is None else not is_small
    return Outcome(stages, peak_of_stages(stages), host, fits if _has_ram(host, ram_bytes) else False)


def fitting_outcome(
    profile: Profile,
    settings: RunSettings,
    device: DeviceMemory,
    ram_bytes: int | None,
    known: KnownCalls | None = None,
) -> Outcome | None:
    """The same if it fits; None if it does not."""
    host = predict_host_memory(profile, settings)
    stages = _fitting_stages(profile, settings, device, known) if _has_ram(host, ram_bytes) else None
    if stages is None:
        return None
    return Outcome(stages, peak_of_stages(stages), host, None if device.capacity_bytes is None else True)


def _fitting_stages(
    profile: Profile, settings: RunSettings, device: DeviceMemory, known: KnownCalls | None
) -> tuple[StageMemory, ...] | None:
    try:
        return predict_memory(profile, settings, device, device.capacity_bytes, known)
    except OutOfDeviceMemory:
        return None


def _has_ram(host: HostMemory, ram_bytes: int | None) -> bool:
    return ram_bytes is None or host.peak_bytes <= ram_bytes
