"""The power, clock and temperature of GPUs during a measured run, and the energy of one generation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.record.measured import DeviceReading, Measured
from diffprof.record.profile import Profile

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class PowerUse:
    """The power, energy and clock of one GPU, sampled over all calls."""

    mean_watts: float
    joules: float
    """Energy of one generation: the mean power times the time."""
    mhz: tuple[float, float] | None
    """The lowest and the highest clock."""
    highest_celsius: float | None
    throttled_share: float | None
    """Share of the samples in which the clock was throttled; None if the GPU does not report it."""
    reasons: tuple[str, ...]
    """Why the clock was throttled."""


def power_use(profile: Profile, device: str | None = None) -> PowerUse | None:
    """The power use of the main device, or of another such as ``cuda:1``; None if it was not sampled."""
    measured = profile.measured
    points = [point for point in gpu_readings(measured, device) if point.watts is not None] if measured else []
    if measured is None or not points:
        return None
    watts = statistics.fmean(point.watts or 0.0 for point in points)
    clocks = [point.mhz for point in points if point.mhz is not None]
    known = [point.throttle for point in points if point.throttle is not None]
    heat = [point.celsius for point in points if point.celsius is not None]
    wall_ns = (
        statistics.median(iteration.wall.host_ns for iteration in measured.timed_iterations)
        if measured.timed_iterations
        else 0
    )
    return PowerUse(
        mean_watts=watts,
        joules=watts * wall_ns / NANOSECONDS,
        mhz=(min(clocks), max(clocks)) if clocks else None,
        highest_celsius=max(heat, default=None),
        throttled_share=sum(map(bool, known)) / len(known) if known else None,
        reasons=tuple(dict.fromkeys(reason for text in known for reason in text.split(", ") if reason)),
    )


def gpu_readings(measured: Measured, device: str | None = None) -> Sequence[DeviceReading]:
    """The samples of the main device, or of another."""
    if device is not None:
        return [reading for reading in measured.readings if reading.device == device]
    return [
        DeviceReading(
            measured.device.kind, point.at_ns, point.gpu_percent, point.gpu_memory_bytes, point.gpu_watts,
            point.gpu_mhz, point.gpu_celsius, point.gpu_throttle,
        )
        for point in measured.system
    ]  # fmt: skip
