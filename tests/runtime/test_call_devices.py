"""Which devices a call ran on is read when it has ended, and what cannot be read is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.record.measured import Device, Iteration, Limitation, Sample, Span
from diffprof.runtime import call_devices
from diffprof.runtime.call_devices import read_devices, read_host


def call_on(*devices: str | None, timed: bool = True) -> Iteration:
    span = Span(0, 2, 0, 2) if timed else Span(0, 2)
    samples = tuple(Sample("unet_forward", span, "unet", device=device) for device in devices)
    return Iteration(began_ns=0, wall=span, samples=samples, steps=(), memory=())


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_devices, "device_of", lambda pipeline: Device("A100", "cuda"))
    monkeypatch.setattr(call_devices, "accelerator_at", lambda place: Device(f"GPU {place.index}", "cuda"))


def pipeline_on(place: str) -> Any:
    return SimpleNamespace(_execution_device=torch.device(place))


def test_the_processor_is_not_timed_between_calls() -> None:
    found = read_devices(pipeline_on("cpu"), call_on(None))
    assert (found.main, dict(found.others), found.limitations) == (None, {}, ())


def test_every_device_of_a_call_is_read(gpus: None) -> None:
    found = read_devices(pipeline_on("cuda:0"), call_on(None, "cuda:2", "cuda:1"))
    assert found.main == Device("A100", "cuda")
    assert {name: device.name for name, device in found.others.items()} == {"cuda:1": "GPU 1", "cuda:2": "GPU 2"}


def test_a_device_that_was_not_timed_by_its_own_clock_is_said(gpus: None) -> None:
    found = read_devices(pipeline_on("cuda:0"), call_on(None, timed=False))
    assert found.limitations == (Limitation("launch_times"),)
    assert found == read_devices(pipeline_on("cuda:0"), call_on(None)), "the devices are the same"


def test_devices_that_do_not_answer_have_their_place_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(_: Any) -> Device:
        raise RuntimeError("the GPU is lost")

    for name in ("device_of", "accelerator_at", "processor_of"):
        monkeypatch.setattr(call_devices, name, lose)
    found = read_devices(pipeline_on("cuda:0"), call_on(None, "cuda:1"))
    lost = Limitation("no_device", "RuntimeError: the GPU is lost")
    assert (found.main, dict(found.others)) == (Device("cuda", "cuda"), {"cuda:1": Device("cuda:1", "cuda")})
    assert found.limitations == (lost, lost)
    problems: list[Limitation] = []
    assert read_host(pipeline_on("cpu"), problems) == Device("cpu", "cpu")
    assert problems == [lost]
