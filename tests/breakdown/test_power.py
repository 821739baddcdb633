"""Power times time is energy; clocks and throttling come from the same samples."""

from __future__ import annotations

from dataclasses import replace

from diffprof.breakdown.power import PowerUse, power_use
from diffprof.record.measured import Device, Iteration, Measured, Span, SystemPoint
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion as sample_profile

SECOND = 1_000_000_000


def measured(*points: SystemPoint) -> Profile:
    run = Measured(Device("GPU", "cuda"), (Iteration(0, Span(0, 2 * SECOND)),), system=points)
    return replace(sample_profile(), measured=run)


def test_the_energy_of_a_generation_is_its_mean_power_times_its_time() -> None:
    points = [
        SystemPoint(0, 1.0, 1, gpu_watts=300.0, gpu_mhz=1400.0, gpu_celsius=60.0, gpu_throttle=""),
        SystemPoint(1, 1.0, 1, gpu_watts=400.0, gpu_mhz=1900.0, gpu_celsius=70.0, gpu_throttle="power cap, heat"),
    ]
    assert power_use(measured(*points)) == PowerUse(350.0, 700.0, (1400.0, 1900.0), 70.0, 0.5, ("power cap", "heat"))


def test_without_samples_of_the_power_nothing_is_said() -> None:
    assert power_use(measured(SystemPoint(0, 1.0, 1))) is None
    assert power_use(replace(sample_profile(), measured=None)) is None
