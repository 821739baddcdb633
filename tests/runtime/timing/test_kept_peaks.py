"""A program that reads torch's peaks is told what it would have been told without diffprof."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.runtime.instrumentation.memory_reader import DeviceAllocator, MemoryReader


class Cuda:
    """The statistics of ``torch._C`` for one device: present bytes and their peak, as its own functions nest them."""

    def __init__(self) -> None:
        self.current = self.peak = 0

    def hold(self, current: int) -> None:
        self.current, self.peak = current, max(self.peak, current)

    def stats(self, device: int) -> dict[str, Any]:
        values = {"current": self.current, "peak": self.peak, "allocated": 0, "freed": 0}
        return {name: {"all": dict(values)} for name in ("allocated_bytes", "reserved_bytes")} | {"num_ooms": 0}

    def reset(self, device: int) -> None:
        self.peak = self.current


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    device = Cuda()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_get_device_index", lambda device, optional=False: 0)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch._C, "_cuda_memoryStats", device.stats, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_resetPeakMemoryStats", device.reset, raising=False)
    monkeypatch.setattr(torch._C, "_accelerator_isAllocatorInitialized", lambda: True)
    monkeypatch.setattr(torch._C, "_accelerator_getDeviceStats", device.stats)
    monkeypatch.setattr(torch._C, "_accelerator_resetPeakStats", device.reset)
    monkeypatch.setattr(torch.accelerator.memory, "_get_device_index", lambda device, optional=False: 0)
    return device


def test_what_diffprof_resets_is_kept_until_the_program_resets_it(cuda: Cuda) -> None:
    reader = MemoryReader(DeviceAllocator(0))
    cuda.hold(900)
    cuda.hold(100)
    assert reader.point("text encoder ends", 0).peak_allocated_bytes == 900
    cuda.hold(500)
    cuda.hold(100)
    assert reader.point("unet ends", 1).peak_allocated_bytes == 500, "since the last reset"
    assert torch.cuda.max_memory_allocated() == 900, "as if nothing had been reset"
    assert torch.cuda.memory_stats()["reserved_bytes.all.peak"] == 900
    cuda.hold(1000)
    assert torch.cuda.max_memory_allocated() == 1000

    cuda.hold(100)
    torch.cuda.reset_peak_memory_stats()
    assert torch._C._cuda_memoryStats == cuda.stats, "torch has its own functions again"
    assert torch.cuda.max_memory_allocated() == 100
    cuda.hold(300)
    assert reader.point("vae ends", 2).peak_allocated_bytes == 300
    assert torch.cuda.max_memory_allocated() == 300
    torch.cuda.reset_peak_memory_stats()


def test_a_program_that_asks_torch_accelerator_is_told_the_same(cuda: Cuda) -> None:
    reader = MemoryReader(DeviceAllocator(0))
    cuda.hold(900)
    cuda.hold(100)
    reader.point("text encoder ends", 0)
    assert torch.accelerator.max_memory_allocated() == 900, "as if nothing had been reset"
    assert torch.accelerator.max_memory_reserved() == 900
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == torch.cuda.max_memory_allocated() == 100
    assert torch._C._accelerator_getDeviceStats == cuda.stats, "torch has its own functions again"
