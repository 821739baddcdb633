"""A sequence that several devices share."""

from __future__ import annotations

import pytest

import diffprof
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device import device_of
from diffprof.prediction.exchange import peer_rate
from diffprof.prediction.time import job_of, predict_time
from diffprof.record.run_settings import RunSettings
from tests.prediction.samples import stable_diffusion_profile


def seconds(devices: int, name: str = "h100-sxm") -> float:
    job = job_of(stable_diffusion_profile(), RunSettings(devices=devices))
    return predict_time(job, device_of(find_accelerator(name))).components["unet"].total_seconds


def test_several_devices_are_faster_but_not_as_many_times() -> None:
    assert seconds(1, "t4") / 2 < seconds(2, "t4") < seconds(1, "t4")


def test_all_devices_are_paid_for() -> None:
    jobs = [job_of(stable_diffusion_profile(), RunSettings(devices=number)) for number in (1, 2)]
    one, two = (predict_time(job, device_of(find_accelerator("t4")), usd_per_hour=1.0) for job in jobs)
    assert two.price_usd is not None and one.price_usd is not None
    assert two.price_usd / two.total_seconds == pytest.approx(2 * one.price_usd / one.total_seconds)


def test_boards_with_nvlink_exchange_faster_than_over_the_host() -> None:
    rates = {name: peer_rate(device_of(find_accelerator(name))) for name in ("h100-sxm", "h100-pcie", "rtx-4090")}
    assert rates["h100-sxm"] > 5 * rates["h100-pcie"] >= rates["rtx-4090"]


PUBLISHED = {("l20", 4, 1024): 0.281, ("rtx-4090", 4, 1024): 0.259, ("l20", 2, 2048): 74.07 / 28}
"""Seconds of a step of FLUX.1-dev: accelerator, devices, height and width. Of docs/prediction.md."""


@pytest.mark.parametrize(("name", "devices", "size"), PUBLISHED)
def test_published_runs_of_several_devices_are_met(name: str, devices: int, size: int) -> None:
    profile = diffprof.profile("flux.1-dev", num_inference_steps=28, height=size, width=size)
    predicted = predict_time(job_of(profile, RunSettings(devices=devices)), device_of(find_accelerator(name)))
    assert predicted.step_seconds == pytest.approx(PUBLISHED[name, devices, size], rel=0.15)
