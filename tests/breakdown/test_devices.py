"""Each device of a run has a row: its memory, its use, and what ran there."""

from __future__ import annotations

import pytest

from diffprof.breakdown.devices import device_table
from tests.sample_iterations import GPU
from tests.sample_profiles import measured_profile, on_two_gpus

GB = 1_000_000_000


def test_each_device_has_its_memory_and_what_ran_there() -> None:
    main, other = device_table(on_two_gpus())
    assert (main.device, main.name, main.components) == ("cuda", GPU.name, ("text_encoder", "unet"))
    assert (other.device, other.name, other.components) == ("cuda:1", "NVIDIA L4", ("vae",))
    assert (other.allocated_bytes, other.reserved_bytes, other.unused_bytes) == (3 * GB, 5 * GB, 2 * GB)
    assert main.reserved_bytes == 9 * GB


def test_use_and_power_are_those_that_were_sampled() -> None:
    profile = on_two_gpus()
    main, other = device_table(profile)
    assert (main.busy_share, other.busy_share) == (pytest.approx(0.8), pytest.approx(0.2))
    assert (main.mean_watts, main.lowest_mhz, main.highest_mhz, main.highest_celsius) == (250, 1400, 1900, 70)
    assert (main.throttled_share, main.throttle_reasons) == (0.5, ("power cap",))
    assert profile.measured is not None
    seconds = profile.measured.timed_iterations[0].wall.host_ns / 1e9
    assert main.joules_per_output == pytest.approx(250 * seconds)
    assert (other.mean_watts, other.joules_per_output, other.throttled_share) == (None, None, None)


def test_a_processor_has_no_row() -> None:
    assert device_table(measured_profile()) == []
