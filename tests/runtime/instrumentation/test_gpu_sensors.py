"""What GPUs of each maker tell about themselves, and what is said where they do not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.runtime.instrumentation.gpu_sensors import GpuReading, find_gpu, nvml_gpu, throttle_reasons
from tests.runtime.instrumentation.fake_gpus import MIB, FakeNvml, Sensors
from tests.runtime.instrumentation.fake_gpus import cuda as cuda


def test_the_gpu_is_found_by_its_uuid_whatever_its_number() -> None:
    assert nvml_gpu(FakeNvml(), "second")() == GpuReading(91.0, 20 * MIB)


def test_a_slice_of_a_gpu_that_does_not_tell_its_use_still_tells_the_rest() -> None:
    assert nvml_gpu(FakeNvml(tells_utilisation=False), "slice")() == GpuReading(None, 20 * MIB)


def test_no_gpu_is_looked_for_where_the_pipeline_runs_on_the_cpu(cuda: Callable[[Any, str], None]) -> None:
    cuda(FakeNvml(), "first")
    assert find_gpu(torch.device("cpu")) == (None, None)


def test_a_machine_without_gpu_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert find_gpu() == (None, None)


def test_power_clock_heat_and_throttling_are_read_where_the_gpu_has_them() -> None:
    assert nvml_gpu(Sensors(), "second")() == GpuReading(91.0, 20 * MIB, 312.5, 1410.0, 71.0, "power cap, heat")
    assert throttle_reasons(0x01 | 0x02) == "", "an idle GPU is not throttled"


class FakeAmdSmi:
    """AMD SMI with one GPU, as its documentation describes it: power in watts, "N/A" for what a GPU does not tell."""

    AmdSmiClkType = SimpleNamespace(GFX=0)
    AmdSmiTemperatureType = SimpleNamespace(JUNCTION=1)
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT=0)

    class AmdSmiException(Exception):
        """As AMD SMI raises it."""

    def __init__(self, power: object = 700, has_violations: bool = True) -> None:
        self.power, self.has_violations = power, has_violations

    def amdsmi_init(self) -> None:
        pass

    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["the only one"]

    def amdsmi_get_gpu_enumeration_info(self, handle: str) -> dict[str, int]:
        return {"hip_id": 0}

    def amdsmi_get_gpu_activity(self, handle: str) -> dict[str, object]:
        return {"gfx_activity": 55, "umc_activity": 3, "mm_activity": "N/A"}

    def amdsmi_get_power_info(self, handle: str) -> dict[str, object]:
        return {"current_socket_power": self.power, "average_socket_power": "N/A"}

    def amdsmi_get_clock_info(self, handle: str, clock: int) -> dict[str, object]:
        return {"clk": 2100, "min_clk": 500, "max_clk": 2100}

    def amdsmi_get_temp_metric(self, handle: str, sensor: int, metric: int) -> int:
        return 64

    def amdsmi_get_gpu_vram_usage(self, handle: str) -> dict[str, int]:
        return {"vram_total": 196592, "vram_used": 20}

    def amdsmi_get_violation_status(self, handle: str) -> dict[str, object]:
        if not self.has_violations:
            raise self.AmdSmiException("AMDSMI_STATUS_NOT_SUPPORTED")
        return {"active_ppt_pwr": 1, "active_socket_thrm": 0, "active_vr_thrm": "N/A", "active_hbm_thrm": 1}


@pytest.fixture
def rocm(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """A machine with ROCm, on which torch's own functions ask the given AMD SMI."""

    def pretend(amdsmi: Any) -> None:
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.version, "hip", "6.4")
        monkeypatch.setattr(torch.cuda, "_HAS_AMDSMI", amdsmi is not None, raising=False)
        monkeypatch.setattr(torch.cuda, "_AMDSMI_ERR", None, raising=False)
        monkeypatch.setattr(torch.cuda, "_cached_hip_to_amdsmi", None, raising=False)
        monkeypatch.setattr(torch.cuda, "amdsmi", amdsmi, raising=False)
        monkeypatch.setitem(sys.modules, "amdsmi", amdsmi)

    return pretend


def test_an_amd_gpu_is_read_by_the_functions_of_torch(rocm: Callable[[Any], None]) -> None:
    rocm(FakeAmdSmi())
    read, problem = find_gpu(torch.device("cuda", 0))
    assert problem is None and read is not None
    assert read() == GpuReading(55.0, 20 * MIB, 700.0, 2100.0, 64.0, "power cap, heat")


def test_what_an_amd_gpu_does_not_tell_is_not_known(rocm: Callable[[Any], None]) -> None:
    rocm(FakeAmdSmi(power="N/A", has_violations=False))
    read, _ = find_gpu(torch.device("cuda", 0))
    assert read is not None
    assert read() == GpuReading(55.0, 20 * MIB, None, 2100.0, 64.0, None)


def test_an_amd_gpu_without_amd_smi_is_noted(rocm: Callable[[Any], None]) -> None:
    rocm(None)
    read, problem = find_gpu(torch.device("cuda", 0))
    assert read is None and problem is not None and "amdsmi" in problem


@pytest.fixture
def xpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with an Intel GPU that tells what torch documents: percent, bytes, watts, MHz and degrees."""
    monkeypatch.setattr(torch.xpu, "is_initialized", lambda: True)
    answers = {"utilization": 40.0, "device_memory_used": 20 * MIB, "power_draw": 190.5, "clock_rate": 2400.0}
    for name, answer in {**answers, "temperature": 55.0}.items():
        monkeypatch.setattr(torch.xpu, name, lambda device, answer=answer: answer, raising=False)
    return monkeypatch


def test_an_intel_gpu_is_read_by_the_functions_of_torch(xpu: pytest.MonkeyPatch) -> None:
    read, problem = find_gpu(torch.device("xpu", 0))
    assert problem is None and read is not None
    assert read() == GpuReading(40.0, 20 * MIB, 190.5, 2400.0, 55.0, None)


def test_an_intel_gpu_whose_sensors_need_more_rights_tells_the_rest(xpu: pytest.MonkeyPatch) -> None:
    def refuse(device: object) -> float:
        raise RuntimeError("Try running with elevated privileges")

    for name in ("utilization", "power_draw"):
        xpu.setattr(torch.xpu, name, refuse)
    read, _ = find_gpu(torch.device("xpu", 0))
    assert read is not None and read() == GpuReading(None, 20 * MIB, None, 2400.0, 55.0)
    for name in ("device_memory_used", "clock_rate", "temperature"):
        xpu.setattr(torch.xpu, name, refuse)
    said = "The GPU is not sampled: torch.xpu says Try running with elevated privileges."
    assert find_gpu(torch.device("xpu", 0)) == (None, said)


def test_that_a_gpu_of_metal_is_not_sampled_is_said() -> None:
    read, problem = find_gpu(torch.device("mps"))
    assert read is None and problem is not None and "Metal" in problem
