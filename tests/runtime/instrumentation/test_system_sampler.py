"""The background sampler: rates are right, memory is bounded, and nothing that goes wrong in it reaches the run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psutil
import pytest
import torch

from diffprof.errors import RequestError
from diffprof.record.measured import DeviceReading, SystemPoint
from diffprof.runtime.instrumentation import system_sampler as system
from diffprof.runtime.instrumentation.gpu_sensors import GpuReading
from diffprof.runtime.instrumentation.system_sampler import (
    ProcessReading,
    SystemReader,
    SystemSampler,
    this_process,
)
from tests.runtime.instrumentation.fake_gpus import MIB, FakeNvml, Sensors
from tests.runtime.instrumentation.fake_gpus import cuda as cuda
from tests.runtime.timing.fakes import FakeClock

MILLISECOND = 1_000_000
PATIENCE = 600
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
    monkeypatch.setattr(system, "MAX_POINTS", 4)
    sampler = SystemSampler(hz=10)
    for number, (cpu, rss) in enumerate([(10, 1), (30, 9), (50, 7), (70, 5)]):
        sampler._keep(SystemPoint(number, cpu, rss, 2.0 * number, None, 40.0 * number, 6 - number))
    assert sampler.stop() == (
        SystemPoint(1, 20.0, 9, 1.0, None, 20.0, 6),
        SystemPoint(3, 60.0, 7, 5.0, None, 100.0, 4),
    )
    assert sampler._period_ns == 200 * MILLISECOND


def test_the_points_stay_bounded_however_long_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MAX_POINTS", 64)
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
