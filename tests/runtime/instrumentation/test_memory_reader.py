"""The memory at one moment: that of the process, and that of the device where there is one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from diffprof.runtime.instrumentation import memory_reader
from diffprof.runtime.instrumentation.memory_reader import DeviceAllocator, MemoryReader
from diffprof.runtime.timing.memory_snapshots import ProcessMemory
from tests.runtime.timing.fakes import FakeAllocator

MIB = 1024**2


def test_a_point_has_the_memory_of_the_device_and_resets_its_peak() -> None:
    allocator = FakeAllocator(allocated=100, reserved=200, peak=900)
    point = MemoryReader(allocator).point("unet begins", 7, sample=3)
    assert (point.label, point.at_ns, point.sample) == ("unet begins", 7, 3)
    assert (point.allocated_bytes, point.reserved_bytes) == (100 * MIB, 200 * MIB)
    assert point.peak_allocated_bytes == 900 * MIB
    assert allocator.peak == 100


@pytest.mark.parametrize("allocator", [None, FakeAllocator(present=False)])
def test_without_a_device_its_numbers_are_none(allocator: Any) -> None:
    point = MemoryReader(allocator).point("start", 0)
    assert (point.allocated_bytes, point.reserved_bytes, point.peak_allocated_bytes) == (None, None, None)


class OwnAllocator:
    """An allocator that a program has put in place of torch's, such as RMM's: it has no statistics."""

    def __init__(self) -> None:
        self.asked = 0

    def read(self) -> Any:
        self.asked += 1
        raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats.")

    def reset_peak(self) -> None:
        raise AssertionError("there is none")


def test_an_allocator_that_tells_nothing_is_asked_once_and_does_not_end_the_call() -> None:
    first, second = OwnAllocator(), OwnAllocator()
    reader = MemoryReader(first, {"cuda:1": second})
    for _ in range(2):
        point = reader.point("start", 0)
        assert (point.allocated_bytes, point.peak_allocated_bytes) == (None, None) and point.rss_bytes
        assert list(reader.other_points("start", 0)) == []
    assert (first.asked, second.asked) == (1, 1)
    assert reader.problem == "RuntimeError: CUDAPluggableAllocator does not yet support getDeviceStats."


def test_the_memory_of_this_process_is_read() -> None:
    point = MemoryReader().point("start", 0)
    assert MIB < point.rss_bytes <= point.peak_rss_bytes <= psutil.virtual_memory().total


def test_where_the_kernel_reports_the_peak_of_another_program_psutil_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_reader, "_kernel_peak", lambda: 10**15)
    monkeypatch.setattr(memory_reader, "process_memory", lambda: ProcessMemory(10, 20))
    point = MemoryReader().point("start", 0)
    assert (point.rss_bytes, point.peak_rss_bytes) == (10, 20)


def torch_with(stats: dict[str, Any], initialized: bool) -> Any:
    memory = SimpleNamespace(memory_stats_as_nested_dict=lambda: stats)
    accelerators = SimpleNamespace(current_accelerator=lambda: None)
    return SimpleNamespace(
        cuda=SimpleNamespace(is_initialized=lambda: initialized, memory=memory), accelerator=accelerators
    )


def test_the_allocator_of_cuda_is_read_once_cuda_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = {
        "allocated_bytes": {"all": {"current": 1, "peak": 3}, "small_pool": {"current": 9, "peak": 9}},
        "reserved_bytes": {"all": {"current": 2, "peak": 4}},
    }
    monkeypatch.setitem(sys.modules, "torch", torch_with(stats, initialized=True))
    assert DeviceAllocator().read() == (1, 2, 3)
    monkeypatch.setitem(sys.modules, "torch", torch_with(stats, initialized=False))
    assert DeviceAllocator().read() is None
    monkeypatch.setitem(sys.modules, "torch", torch_with({}, initialized=True))
    assert DeviceAllocator().read() is None
