"""Power and clock of the GPU during a measured run, and the energy of one generation."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from diffprof.record.profile import Profile

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class PowerUse:
    """What the samples of the GPU say, over all calls."""

    mean_watts: float
    joules: float
    """Of one generation: the mean power times its time."""
    mhz: tuple[float, float] | None
    """The lowest and the highest clock."""
    highest_celsius: float | None
    throttled_share: float | None
    """Of the samples in which the clock was lowered; None where the GPU does not tell."""
    reasons: tuple[str, ...]
    """Why it was lowered."""


def power_use(profile: Profile) -> PowerUse | None:
    """None where the power was not sampled."""
    measured = profile.measured
    points = [point for point in measured.system if point.gpu_watts is not None] if measured else []
    if measured is None or not points:
        return None
    watts = statistics.fmean(point.gpu_watts or 0.0 for point in points)
    clocks = [point.gpu_mhz for point in points if point.gpu_mhz is not None]
    told = [point.gpu_throttle for point in points if point.gpu_throttle is not None]
    heat = [point.gpu_celsius for point in points if point.gpu_celsius is not None]
    wall_ns = statistics.median(iteration.wall.host_ns for iteration in measured.timed) if measured.timed else 0
    return PowerUse(
        mean_watts=watts,
        joules=watts * wall_ns / NANOSECONDS,
        mhz=(min(clocks), max(clocks)) if clocks else None,
        highest_celsius=max(heat, default=None),
        throttled_share=sum(map(bool, told)) / len(told) if told else None,
        reasons=tuple(dict.fromkeys(reason for text in told for reason in text.split(", ") if reason)),
    )
