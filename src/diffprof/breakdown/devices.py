"""The devices of a measured run: memory, utilization, power, and the components that ran there."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diffprof.breakdown.power import gpu_readings, power_use
from diffprof.breakdown.throughput import generation
from diffprof.record.measured import DevicePoint, Measured, MemoryPoint
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class DeviceRow:
    """One accelerator, over all calls except traced ones. None means unknown."""

    device: str
    """The device type, such as ``cuda``, of the main device; the full name, such as ``cuda:1``, of others."""
    name: str
    components: tuple[str, ...]
    """The components that ran there, in the order of their calls."""
    allocated_bytes: int | None
    """Peak memory of tensors."""
    reserved_bytes: int | None
    """Peak memory that torch reserved from the driver."""
    busy_share: float | None
    """Share of the time in which the GPU was busy, as it reports itself."""
    mean_watts: float | None
    joules_per_output: float | None
    """Energy for one image or video."""
    lowest_mhz: float | None
    highest_mhz: float | None
    highest_celsius: float | None
    throttled_share: float | None
    """Share of the samples in which the clock was throttled."""
    throttle_reasons: tuple[str, ...]
    """Why the clock was throttled."""

    @property
    def unused_bytes(self) -> int | None:
        """Reserved but never allocated: kept for later, or fragmented."""
        if self.allocated_bytes is None or self.reserved_bytes is None:
            return None
        return max(self.reserved_bytes - self.allocated_bytes, 0)


def device_table(profile: Profile) -> list[DeviceRow]:
    """One row for each accelerator, the main one first; nothing for a CPU, whose memory is that of the process."""
    measured = profile.measured
    if measured is None:
        return []
    iterations = [iteration for iteration in measured.iterations if not iteration.traced]
    points = [point for iteration in iterations for point in iteration.memory]
    rows = [_row(profile, measured, None, points)] if measured.device.kind != "cpu" else []
    for place in measured.other_devices:
        others = [point for one in iterations for point in one.device_memory if point.device == place]
        rows.append(_row(profile, measured, place, others))
    return rows


def _row(
    profile: Profile, measured: Measured, place: str | None, points: Sequence[MemoryPoint | DevicePoint]
) -> DeviceRow:
    device = measured.device if place is None else measured.other_devices[place]
    busy = [one.percent / 100 for one in gpu_readings(measured, place) if one.percent is not None]
    power, whole = power_use(profile, place), generation(profile)
    outputs = whole.outputs if whole is not None else None
    low, high = power.mhz if power is not None and power.mhz is not None else (None, None)
    return DeviceRow(
        device=device.kind if place is None else place,
        name=device.name,
        components=_components(measured, place),
        allocated_bytes=_largest(
            [*(one.allocated_bytes for one in points), *(one.peak_allocated_bytes for one in points)]
        ),
        reserved_bytes=_largest(one.reserved_bytes for one in points),
        busy_share=statistics.fmean(busy) if busy else None,
        mean_watts=power.mean_watts if power is not None else None,
        joules_per_output=power.joules / outputs if power is not None and outputs else None,
        lowest_mhz=low,
        highest_mhz=high,
        highest_celsius=power.highest_celsius if power is not None else None,
        throttled_share=power.throttled_share if power is not None else None,
        throttle_reasons=power.reasons if power is not None else (),
    )


def _components(measured: Measured, place: str | None) -> tuple[str, ...]:
    found = (
        sample.component
        for iteration in measured.iterations
        for sample in iteration.samples
        if sample.device == place and sample.component is not None
    )
    return tuple(dict.fromkeys(found))


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
