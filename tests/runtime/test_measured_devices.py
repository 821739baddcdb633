"""What a measured run says of its devices, and what it does where they fail."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import diffprof
from diffprof.breakdown.devices import device_table
from diffprof.breakdown.steps import loop_table, step_table
from diffprof.breakdown.throughput import generation, throughput_table
from diffprof.record.measured import Device, Limitation
from diffprof.runtime import call_devices
from diffprof.runtime.instrumentation import pipeline_devices
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> list[Device]:
    """A pipeline that says it is on a GPU, which is what the list says at each moment; its clock is not read."""
    devices = [Device("NVIDIA A100", "cuda", peak_flops_per_second={"float32": 156e12}, bytes_per_second=2e12)]
    monkeypatch.setattr(call_devices, "execution_device", lambda pipeline: torch.device("cuda:0"))
    monkeypatch.setattr(call_devices, "device_of", lambda pipeline: devices[-1])
    return devices


def test_the_device_is_read_when_it_ran_and_not_when_somebody_looks(on_a_gpu: list[Device]) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
        # The program goes on: TF32 is switched off, and the pipeline goes elsewhere.
        on_a_gpu.append(Device("NVIDIA A100", "cuda", peak_flops_per_second={"float32": 19.5e12}))
    measured = run.profile.measured
    assert measured is not None and measured.device.peak_flops_per_second == {"float32": 156e12}


def test_calls_between_which_tf32_was_allowed_have_a_peak_each(on_a_gpu: list[Device]) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
        on_a_gpu.append(Device("NVIDIA A100", "cuda", peak_flops_per_second={"float32": 19.5e12}))
        pipeline(**small.arguments())
        pipeline(**small.arguments())
    found = [(len(one.measured.iterations), one.measured.device.peak_flops_per_second) for one in run.profiles]
    assert found == [(1, {"float32": 156e12}), (2, {"float32": 19.5e12})]


def test_an_allocator_without_statistics_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def read(self) -> Any:
            raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats.")

    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    reader = MemoryReader(Silent())  # type: ignore[arg-type]
    monkeypatch.setattr(pipeline_devices, "MemoryReader", lambda *args: reader)
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        assert pipeline(**small.arguments()).images is not None
    assert [(one.kind, one.detail[:35]) for one in run.limitations] == [
        ("no_device_memory", "RuntimeError: CUDAPluggableAllocato")
    ]
    assert run.profile.total.macs > 0


def test_nothing_is_a_rate_that_was_not_timed_on_the_device(on_a_gpu: list[Device]) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
    assert run.limitations == (Limitation("launch_times"),)
    rows = throughput_table(run.profile)
    assert [(row.flops_per_second, row.peak_share, row.bandwidth_share, row.limited_by) for row in rows] == [
        (None, None, None, None)
    ] * len(rows)
    assert all(row.macs for row in rows)
    assert all(row.flops_per_second is None for row in step_table(run.profile))
    assert all(loop.steps_per_second is None for loop in loop_table(run.profile))
    whole = generation(run.profile)
    assert whole is not None and whole.steps_per_second is None
    assert whole.flops_per_second is not None, "the whole call ends with a wait for the device"


def test_a_component_on_a_gpu_of_a_pipeline_on_the_cpu_has_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a map of devices left the first component on the CPU."""
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    monkeypatch.setattr(pipeline_devices, "further_devices", lambda *_: {"unet": torch.device("cuda", 0)})
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
    assert Limitation("launch_times") in run.limitations
    assert {row.component: row.flops_per_second for row in throughput_table(run.profile)}["unet"] is None
    (row,) = device_table(run.profile)
    assert (row.device, row.components) == ("cuda:0", ("unet",))


def test_a_gpu_that_is_lost_keeps_the_image_and_what_was_measured(
    on_a_gpu: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(pipeline: Any) -> Device:
        raise RuntimeError("CUDA error: the GPU has fallen off the bus")

    monkeypatch.setattr(call_devices, "device_of", lose)
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        assert pipeline(**small.arguments()).images is not None
    assert run.limitations[0] == Limitation("no_device", "RuntimeError: CUDA error: the GPU has fallen off the bus")
    assert run.profile.total.macs > 0
