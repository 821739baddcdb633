"""The checks of the doctor that need a GPU, against stand-ins for one: each holds where it should, and can fail."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.record.measured import Device, Limitation
from diffprof.runtime import doctor, doctor_devices, doctor_model
from diffprof.runtime.doctor import CHECKS
from diffprof.runtime.doctor_model import Skipped

SECOND = torch.device("cuda", 1)


class StandInPatient:
    """A pipeline on the second GPU whose calls do nothing; its measured run is given."""

    def __init__(self, run: Any = None) -> None:
        self.run = run
        self.calls = 0
        self.place = SECOND

    def pipeline(self, **changes: Any) -> Any:
        return SimpleNamespace(_execution_device=SECOND, to=lambda place: None, config={})

    def call(self, pipeline: Any) -> torch.Tensor:
        self.calls += 1
        return torch.zeros(1)


class TwoClocks:
    """Events of two GPUs: 2 ms pass between two of the second one's, and nothing on the first, which is current."""

    def __init__(self) -> None:
        self.now = {0: 0.0, 1: 0.0}

    def Event(self, enable_timing: bool) -> Any:
        clocks = self.now

        class Event:
            at = 0.0

            def record(self, stream: int = 0) -> None:
                self.at = clocks[stream]

            def elapsed_time(self, end: Any) -> float:
                return float(end.at - self.at)

        return Event()

    def compute(self) -> None:
        self.now[1] += 2.0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> TwoClocks:
    clocks = TwoClocks()
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    replaced: dict[str, Callable[..., Any]] = {
        "is_initialized": lambda: True, "current_device": lambda: 0, "current_stream": lambda index: index,
        "is_current_stream_capturing": lambda: False, "synchronize": lambda index: None, "Event": clocks.Event,
    }  # fmt: skip
    for name, function in replaced.items():
        monkeypatch.setattr(torch.cuda, name, function)
    return clocks


def with_layers(monkeypatch: pytest.MonkeyPatch, clocks: TwoClocks, **flops: int) -> None:
    device = Device("a GPU", "cuda", peak_flops_per_second={"float16": 1e12})
    monkeypatch.setattr(doctor_devices, "device_of", lambda pipeline: device)
    layers = {name: (number, clocks.compute) for name, number in flops.items()}
    monkeypatch.setattr(doctor_devices, "_sdxl_layers", lambda place, dtype, small: layers)


def test_layers_are_timed_on_the_device_that_is_examined(monkeypatch: pytest.MonkeyPatch, clocks: TwoClocks) -> None:
    with_layers(monkeypatch, clocks, linear=10**9)  # in 2 ms: half of the peak
    assert doctor_devices.layer_rates(StandInPatient()) == "linear 500.0 GFLOP/s, of 1.0 TFLOP/s"  # type: ignore[arg-type]


def test_a_layer_above_the_peak_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch, clocks: TwoClocks) -> None:
    with_layers(monkeypatch, clocks, linear=4 * 10**9)
    with pytest.raises(AssertionError, match="linear reaches 200% of the peak of a GPU"):
        doctor_devices.layer_rates(StandInPatient())  # type: ignore[arg-type]
    with_layers(monkeypatch, clocks, convolution=4 * 10**9)
    assert "2.0 TFLOP/s" in doctor_devices.layer_rates(StandInPatient())  # type: ignore[arg-type]


def devices_with_contexts(monkeypatch: pytest.MonkeyPatch, *answers: list[int]) -> None:
    remaining = list(answers)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(doctor_devices, "devices_in_use", lambda backend: remaining.pop(0))
    monkeypatch.setattr(doctor_devices, "measured_run", lambda model, pipeline: model.run)


def test_a_context_on_another_device_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    devices_with_contexts(monkeypatch, [1], [1])
    assert doctor_devices.untouched_devices(StandInPatient()) == "1 of 2 are in use"  # type: ignore[arg-type]
    devices_with_contexts(monkeypatch, [1], [0, 1])
    with pytest.raises(AssertionError, match=r"\[1\] were in use, and \[0, 1\]"):
        doctor_devices.untouched_devices(StandInPatient())  # type: ignore[arg-type]


def test_where_all_devices_are_in_use_nothing_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    devices_with_contexts(monkeypatch, [0, 1])
    with pytest.raises(Skipped, match="every device is in use already"):
        doctor_devices.untouched_devices(StandInPatient())  # type: ignore[arg-type]
    names = list(CHECKS)
    assert names.index("untouched") < names.index("second_device"), "which uses one more device"


def test_the_peak_that_a_program_reads_may_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = [500, 500, 500, 400]
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda place: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda place: peaks.pop(0))
    monkeypatch.setattr(doctor_devices, "measured_run", lambda model, pipeline: model.run)
    assert doctor_devices.kept_peak(StandInPatient()) == "500 bytes"  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="the peak is 500 bytes, and 400 where"):
        doctor_devices.kept_peak(StandInPatient())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([], "no allocation was recorded"),
        ([{"action": "free_completed"}], "no allocation was recorded"),
        ([{"action": "alloc", "user_metadata": ""}], "no allocation has the label of a module"),
        ([{"action": "alloc", "user_metadata": "unet"}, {"action": "alloc"}], None),
    ],
)
def test_a_snapshot_without_allocations_or_labels_is_a_broken_promise(
    events: list[dict[str, str]], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **options: None)
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: {"segments": [], "device_traces": [[], events]})
    monkeypatch.setattr(torch.cuda.memory, "_set_memory_metadata", lambda label: None, raising=False)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    model: Any = StandInPatient()
    if said is None:
        assert "2 allocations, 1 with the label of a module" in doctor_devices.allocation_snapshot(model)
        return
    with pytest.raises(AssertionError, match=said):
        doctor_devices.allocation_snapshot(model)


def test_sensors_that_are_missing_break_no_promise_of_a_measured_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU without NVML is sampled by nobody: one check says so, and the others are made."""

    class Measuring:
        def __init__(self, *limitations: Limitation) -> None:
            self.limitations = limitations

        def __enter__(self) -> Measuring:
            return self

        def __exit__(self, *exception: object) -> None:
            return None

    model: Any = StandInPatient()
    absent = Limitation("no_samples", "The GPU is not sampled: install diffprof[gpu] for it.")
    monkeypatch.setattr(doctor_model, "measuring", lambda pipeline, sample_hz: Measuring(absent))
    doctor_model.measured_run(model, model.pipeline())
    other = Limitation("not_counted", "no reason")
    monkeypatch.setattr(doctor_model, "measuring", lambda pipeline, sample_hz: Measuring(absent, other))
    with pytest.raises(AssertionError, match="not_counted no reason"):
        doctor_model.measured_run(model, model.pipeline())


def test_the_report_says_what_figures_of_an_accelerator_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device("NVIDIA H100 80GB HBM3", "cuda", 85_000_000_000, peak_flops_per_second={"float16": 989.4e12})
    monkeypatch.setattr(doctor, "device_of", lambda pipeline: device)
    monkeypatch.setattr(doctor, "open_live", lambda pipeline: SimpleNamespace(pipeline=pipeline))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda place: (9, 0))
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    machine = doctor._machine(StandInPatient())  # type: ignore[arg-type]
    assert machine["device"] == "NVIDIA H100 80GB HBM3 (cuda)"
    assert (machine["devices"], machine["memory"], machine["capability"]) == ("8", "85,000,000,000 bytes", "9.0")
    assert machine["peaks"] == "float16 989.4 TFLOP/s"
    assert machine["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
