"""The change of measured memory between two profiles."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.comparison.counts import CountChange
from diffprof.record.history.summary import peak_memory_bytes
from diffprof.record.profile import Profile

MEASURED_PEAK = "measured_peak_memory"


@dataclass(frozen=True)
class MemoryChange:
    """The measured peak memory before and after."""

    peak: CountChange
    on_device: bool
    """Whether it is device memory; else it is the resident memory of the process."""


def memory_change(before: Profile, after: Profile) -> MemoryChange | None:
    """The change of peak memory; None if one was not measured, or if only one has device memory."""
    if before.measured is None or after.measured is None:
        return None
    on_device = _has_device_memory(before)
    peaks = [peak_memory_bytes(measured) for measured in (before.measured, after.measured)]
    if peaks[0] is None or peaks[1] is None or on_device != _has_device_memory(after):
        return None
    return MemoryChange(CountChange(MEASURED_PEAK, peaks[0], peaks[1]), on_device)


def _has_device_memory(profile: Profile) -> bool:
    measured = profile.measured
    iterations = measured.iterations if measured else ()
    return any(point.allocated_bytes is not None for iteration in iterations for point in iteration.memory)
