"""The few figures of a profile on an accelerator."""

from __future__ import annotations

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device import device_of
from diffprof.prediction.on_accelerator import OnAccelerator, on_accelerator, on_accelerators
from diffprof.prediction.time import job_of, predict_time
from tests.sample_profiles import stable_diffusion

PROFILE = stable_diffusion(unet_calls=2)
H100, T4 = find_accelerator("h100-sxm"), find_accelerator("t4")


def test_the_time_is_the_predicted_one() -> None:
    found, time = on_accelerator(PROFILE, H100), predict_time(job_of(PROFILE), device_of(H100), "device")
    seconds = (found.low_seconds, found.total_seconds, found.high_seconds)
    assert seconds == (time.low_seconds, time.total_seconds, time.high_seconds)


def test_several_at_once_are_the_same_as_one_by_one() -> None:
    assert on_accelerators(PROFILE, [H100, T4]) == (on_accelerator(PROFILE, H100), on_accelerator(PROFILE, T4))


def test_memory_is_unknown_where_the_profile_has_no_allocations() -> None:
    assert on_accelerator(PROFILE, None) == OnAccelerator("", None)
    found = on_accelerator(PROFILE, H100)
    assert (found.device_bytes, found.fits) == (None, None)
