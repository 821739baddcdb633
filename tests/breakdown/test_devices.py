"""Each device of a run has a row: its memory, its use, and what ran there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.breakdown.devices import device_table
from diffprof.record.measured import Device, DevicePoint, DeviceReading, SystemPoint
from diffprof.record.profile import Profile
from diffprof.render.device_tables import device_columns
from tests.sample_iterations import GPU, MILLISECOND, iteration_on
from tests.sample_profiles import measured_profile

GB = 1_000_000_000


def on_two_gpus() -> Profile:
    """The VAE runs on a second GPU; both are sampled twice in a generation of about 60 ms."""
    one = iteration_on(GPU)
    samples = tuple(replace(one, device="cuda:1") if one.component == "vae" else one for one in one.samples)
    points = (DevicePoint("cuda:1", "start", 0, GB, 2 * GB, GB), DevicePoint("cuda:1", "end", 5, GB, 5 * GB, 3 * GB))
    profile = measured_profile(
        device=GPU,
        iterations=[replace(one, samples=samples, device_memory=points)],
        system=[
            SystemPoint(at * MILLISECOND, 100, GB, gpu_percent=percent, gpu_memory_bytes=GB, gpu_watts=watts,
                        gpu_mhz=mhz, gpu_celsius=70, gpu_throttle=throttle)
            for at, percent, watts, mhz, throttle in ((1, 90, 300, 1400, "power cap"), (9, 70, 200, 1900, ""))
        ],
    )  # fmt: skip
    assert profile.measured is not None
    measured = replace(
        profile.measured,
        other_devices={"cuda:1": Device("NVIDIA L4", "cuda")},
        readings=(DeviceReading("cuda:1", 1, 10, GB), DeviceReading("cuda:1", 9, 30, GB)),
    )
    return replace(profile, measured=measured)


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
    seconds = profile.measured.timed[0].wall.host_ns / 1e9
    assert main.joules_per_output == pytest.approx(250 * seconds)
    assert (other.mean_watts, other.joules_per_output, other.throttled_share) == (None, None, None)


def test_a_processor_has_no_row() -> None:
    assert device_table(measured_profile()) == []
    assert device_columns(measured_profile(), ascii_only=True)[0].cells == []


def test_the_table_names_the_difference_and_leaves_out_what_nobody_knows() -> None:
    columns = {column.heading.replace("\n", " "): column.cells for column in device_columns(on_two_gpus(), True)}
    assert columns["device"] == [f"cuda\n{GPU.name}", "cuda:1\nNVIDIA L4"]
    assert columns["reserved, not used"][1] == "2.00 GB"
    assert columns["clock"] == ["1,400 to 1,900 MHz", "-"]
    assert columns["clock lowered"] == ["50.0 % by power cap", "-"]
    assert "hottest" in columns
    unsampled = measured_profile(device=GPU, iterations=[iteration_on(GPU)])
    assert "power" not in {column.heading for column in device_columns(unsampled, True)}
