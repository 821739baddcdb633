"""The background sampler: rates are right, memory is bounded, and nothing that goes wrong in it reaches the run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch

from diffprof.errors import RequestError
from diffprof.record.measured import DeviceReading, SystemPoint
from diffprof.runtime.instrumentation import system_sampler as system
from diffprof.runtime.instrumentation.gpu_sensors import GpuReading, find_gpu, nvml_gpu, throttle_reasons
from diffprof.runtime.instrumentation.system_sampler import (
    ProcessReading,
    SystemReader,
    SystemSampler,
    this_process,
)
from tests.runtime.timing.fakes import FakeClock

MIB = 1024**2
MILLISECOND = 1_000_000
PATIENCE = 60
"""Seconds after which something hangs; no test waits for them."""


class FakeProcess:
    """A process that has used what a test says; lets the test wait until it was read so often."""

    def __init__(self, readings: int = 1) -> None:
        self.now = ProcessReading(cpu_ns=7_000, rss_bytes=100 * MIB, read_bytes=500, written_bytes=600)
        self.fails_with: Exception | None = None
        self.was_read = threading.Event()
        self._left = readings

    def __call__(self) -> ProcessReading:
        self._left -= 1
        if self._left <= 0:
            self.was_read.set()
        if self.fails_with is not None and self._left < 0:
            raise self.fails_with
        return self.now

    def uses(self, cpu_ms: float = 0, read: int = 0, written: int = 0, rss: int = 100 * MIB) -> None:
        before = self.now
        assert before.read_bytes is not None and before.written_bytes is not None
        cpu_ns = before.cpu_ns + round(cpu_ms * MILLISECOND)
        self.now = ProcessReading(cpu_ns, rss, before.read_bytes + read, before.written_bytes + written)


def test_a_point_says_what_was_used_since_the_point_before() -> None:
    clock, process = FakeClock(), FakeProcess()
    reader = SystemReader(process, None, clock)
    clock.pass_milliseconds(100)
    process.uses(cpu_ms=150, read=2_000, written=10, rss=120 * MIB)
    first = reader.read()
    clock.pass_milliseconds(200)
    process.uses(cpu_ms=20, read=0, written=400, rss=90 * MIB)
    assert first == SystemPoint(100 * MILLISECOND, 150.0, 120 * MIB, 20_000.0, 100.0)
    assert reader.read() == SystemPoint(300 * MILLISECOND, 10.0, 90 * MIB, 0.0, 2_000.0)


def test_the_first_sample_is_primed_when_sampling_starts() -> None:
    clock, process = FakeClock(), FakeProcess()
    clock.pass_milliseconds(5_000)
    process.uses(cpu_ms=4_000)
    reader = SystemReader(process, None, clock)
    clock.pass_milliseconds(10)
    process.uses(cpu_ms=5)
    assert reader.read().cpu_percent == 50.0


def test_sample_times_count_from_the_start_of_the_measurement() -> None:
    clock = FakeClock()
    clock.pass_milliseconds(1_000)
    reader = SystemReader(FakeProcess(), None, clock, began_ns=400 * MILLISECOND)
    clock.pass_milliseconds(100)
    assert reader.read().at_ns == 700 * MILLISECOND


def test_metrics_that_the_platform_lacks_are_none() -> None:
    clock = FakeClock()
    reader = SystemReader(lambda: ProcessReading(0, MIB, None, None), None, clock)
    clock.pass_milliseconds(100)
    assert reader.read() == SystemPoint(100 * MILLISECOND, 0.0, MIB)


def test_a_gpu_is_on_the_same_points() -> None:
    clock = FakeClock()
    reader = SystemReader(FakeProcess(), lambda: GpuReading(87.0, 9 * MIB), clock)
    clock.pass_milliseconds(100)
    point = reader.read()
    assert (point.gpu_percent, point.gpu_memory_bytes) == (87.0, 9 * MIB)


def test_a_long_run_is_kept_at_half_the_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MOST_POINTS", 4)
    sampler = SystemSampler(hz=10)
    for number, (cpu, rss) in enumerate([(10, 1), (30, 9), (50, 7), (70, 5)]):
        sampler._keep(SystemPoint(number, cpu, rss, 2.0 * number, None, 40.0 * number, 6 - number))
    assert sampler.stop() == (
        SystemPoint(1, 20.0, 9, 1.0, None, 20.0, 6),
        SystemPoint(3, 60.0, 7, 5.0, None, 100.0, 4),
    )
    assert sampler._period_ns == 200 * MILLISECOND


def test_the_points_stay_bounded_however_long_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MOST_POINTS", 64)
    sampler = SystemSampler()
    for number in range(10_000):
        sampler._keep(SystemPoint(number, 50.0, 1))
    points = sampler.stop()
    assert 32 <= len(points) < 64
    assert [point.at_ns for point in points] == sorted(point.at_ns for point in points)
    assert points[-1].at_ns > 9_000


def test_it_samples_beside_the_run_until_it_is_stopped() -> None:
    process = FakeProcess(readings=5)
    sampler = SystemSampler(hz=1000, process=process)
    sampler.start()
    assert process.was_read.wait(PATIENCE)
    points = sampler.stop()
    assert len(points) >= 3
    assert points == sampler.stop()
    assert sampler.problem is None
    assert not any(thread.name == "diffprof system sampler" for thread in threading.enumerate())


def test_it_never_keeps_the_program_alive() -> None:
    sampler = SystemSampler(process=FakeProcess())
    sampler.start()
    assert sampler._thread is not None and sampler._thread.daemon
    sampler.stop()


def test_a_run_shorter_than_a_period_has_a_point_too() -> None:
    with SystemSampler(hz=0.001, process=FakeProcess()) as sampler:
        pass
    assert len(sampler.stop()) == 1


@pytest.mark.parametrize("error", [OSError("no such file"), psutil.AccessDenied(1), ZeroDivisionError("x")])
def test_an_error_ends_the_sampling_and_is_noted(error: Exception) -> None:
    process = FakeProcess(readings=4)
    process.fails_with = error
    sampler = SystemSampler(hz=1000, process=process)
    sampler.start()
    assert sampler._thread is not None
    sampler._thread.join(PATIENCE)
    assert len(sampler.stop()) == 3
    assert sampler.problem is not None and type(error).__name__ in sampler.problem


def test_an_error_at_the_start_is_noted() -> None:
    def broken() -> ProcessReading:
        raise OSError("too many open files")

    with SystemSampler(process=broken) as sampler:
        pass
    assert sampler.stop() == ()
    assert sampler.problem == "The system sampler ended early: OSError: too many open files"


def test_a_run_that_raises_ends_the_sampling() -> None:
    with pytest.raises(KeyError), SystemSampler(process=FakeProcess()) as sampler:
        raise KeyError
    assert sampler._thread is not None and not sampler._thread.is_alive()


@pytest.mark.parametrize("hz", [0, -1, float("nan"), float("inf")])
def test_an_impossible_frequency_is_rejected(hz: float) -> None:
    with pytest.raises(RequestError, match="times a second"):
        SystemSampler(hz=hz)


def test_this_process_is_sampled_for_real() -> None:
    sampler = SystemSampler(hz=100)
    sampler.start()
    assert sampler._thread is not None
    while len(sampler._points) < 3 and sampler._thread.is_alive():
        sum(range(10_000))  # something to see
    points = sampler.stop()
    assert sampler.problem is None
    assert [point.at_ns for point in points] == sorted({point.at_ns for point in points})
    assert all(point.at_ns > 0 and point.rss_bytes > MIB for point in points)
    assert max(point.cpu_percent for point in points) > 0
    assert all(point.gpu_percent is None for point in points) or torch.cuda.is_initialized()


def test_the_io_of_this_process_is_read_where_the_platform_has_it() -> None:
    reading = this_process()()
    assert (reading.read_bytes is not None) == hasattr(psutil.Process, "io_counters")


@pytest.mark.parametrize("error", [psutil.AccessDenied(1), NotImplementedError(), PermissionError()])
def test_unreadable_io_counters_are_not_read_again(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(self: Any) -> None:
        raise error

    monkeypatch.setattr(psutil.Process, "io_counters", refuse, raising=False)
    reading = this_process()()
    assert (reading.read_bytes, reading.written_bytes) == (None, None)
    assert reading.rss_bytes > MIB


class FakeNvml:
    """NVML with two GPUs, the second of them in use."""

    class NVMLError(Exception):
        """As NVML raises it."""

    utilisation = {"GPU-first": 3, "GPU-second": 91, "MIG-slice": 0}  # noqa: RUF012  a fake

    def __init__(self, tells_utilisation: bool = True) -> None:
        self.tells_utilisation = tells_utilisation
        self.started = False

    def nvmlInit(self) -> None:
        self.started = True

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        assert self.started
        if uuid not in self.utilisation:
            raise self.NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:
        if not self.tells_utilisation:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=self.utilisation[handle], memory=1)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(total=24 * MIB, free=4 * MIB, used=20 * MIB)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """A machine on which torch uses the GPU with the given UUID, and NVML is the given one."""

    def pretend(nvml: Any, uuid: str) -> None:
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place=None: SimpleNamespace(uuid=uuid))
        monkeypatch.setitem(sys.modules, "pynvml", nvml)

    return pretend


def test_the_gpu_is_found_by_its_uuid_whatever_its_number() -> None:
    assert nvml_gpu(FakeNvml(), "second")() == GpuReading(91.0, 20 * MIB)


def test_the_gpu_that_torch_uses_is_sampled(cuda: Callable[[Any, str], None]) -> None:
    cuda(FakeNvml(), "first")
    with SystemSampler(process=FakeProcess()) as sampler:
        pass
    (point,) = sampler.stop()
    assert (point.gpu_percent, point.gpu_memory_bytes) == (3.0, 20 * MIB)
    assert sampler.problem is None


@pytest.mark.parametrize(
    ("nvml", "uuid", "said"),
    [
        (None, "first", "install diffprof[gpu]"),
        (FakeNvml(), "third", "NVML says Not Found"),
    ],
    ids=["NVML is not installed", "a GPU that NVML does not know"],
)
def test_an_unreadable_gpu_is_noted_and_the_rest_is_sampled(
    cuda: Callable[[Any, str], None], nvml: Any, uuid: str, said: str
) -> None:
    cuda(nvml, uuid)
    with SystemSampler(process=FakeProcess()) as sampler:
        pass
    (point,) = sampler.stop()
    assert point.gpu_percent is None
    assert sampler.problem is not None and said in sampler.problem


def test_a_slice_of_a_gpu_that_does_not_tell_its_use_still_tells_the_rest() -> None:
    assert nvml_gpu(FakeNvml(tells_utilisation=False), "slice")() == GpuReading(None, 20 * MIB)


def test_no_gpu_is_looked_for_where_the_pipeline_runs_on_the_cpu(cuda: Callable[[Any, str], None]) -> None:
    cuda(FakeNvml(), "first")
    assert find_gpu(torch.device("cpu")) == (None, None)


def test_a_machine_without_gpu_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert find_gpu() == (None, None)


class Sensors(FakeNvml):
    """A GPU with all sensors."""

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 312_500

    def nvmlDeviceGetClockInfo(self, handle: str, clock: int) -> int:
        return 1410

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 71

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x04 | 0x20 | 0x40


def test_power_clock_heat_and_throttling_are_read_where_the_gpu_has_them() -> None:
    assert nvml_gpu(Sensors(), "second")() == GpuReading(91.0, 20 * MIB, 312.5, 1410.0, 71.0, "power cap, heat")
    assert throttle_reasons(0x01 | 0x02) == "", "an idle GPU is not throttled"


def test_a_gpu_that_comes_into_use_later_is_sampled_from_then_on(
    cuda: Callable[[Any, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda(Sensors(), "first")
    answers = [False]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: answers.pop() if answers else True)
    with SystemSampler(hz=1000, process=FakeProcess()) as sampler:
        while len(sampler._points) < 2 and sampler.problem is None:
            pass
    points = sampler.stop()
    assert points[-1].gpu_watts == 312.5


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


class LostGpu:
    """A GPU that answers twice and is gone then."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self) -> GpuReading:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("GPU is lost")
        return GpuReading(50.0, MIB)


def test_a_gpu_that_disappears_is_noted_and_the_process_is_sampled_on() -> None:
    clock, process = FakeClock(), FakeProcess()
    reader = SystemReader(process, LostGpu(), clock)
    points = []
    for _ in range(4):
        clock.pass_milliseconds(100)
        points.append(reader.read())
    assert [point.gpu_percent for point in points] == [50.0, 50.0, None, None]
    assert all(point.rss_bytes for point in points)
    assert reader.problem == "The GPU was sampled until it stopped answering: RuntimeError: GPU is lost"


def test_further_gpus_are_sampled_at_the_same_moments(cuda: Callable[[Any, str], None]) -> None:
    cuda(Sensors(), "first")
    place, other = torch.device("cuda:0"), torch.device("cuda:1")
    with SystemSampler(process=FakeProcess(), place=place, others=[other]) as sampler:
        pass
    (point,) = sampler.stop()
    (reading,) = sampler.readings
    assert reading == DeviceReading("cuda:1", point.at_ns, 3.0, 20 * MIB, 312.5, 1410.0, 71.0, "power cap, heat")


def test_a_further_gpu_that_disappears_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "find_gpu", lambda place: (LostGpu(), None))
    gpu = system.OtherGpu(torch.device("cuda:1"))
    for at_ns in range(4):
        gpu.read(at_ns)
    assert [reading.at_ns for reading in gpu.readings] == [0, 1]
    assert gpu.problem == "cuda:1 was sampled until it stopped answering: RuntimeError: GPU is lost"
