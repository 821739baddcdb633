"""The memory of the process and of the accelerator, as the operating system and PyTorch report it."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import psutil
import pytest

from diffprof.runtime.timing.memory_snapshots import TorchAllocator, process_memory

MIB = 1024**2


def test_the_memory_of_this_process_is_read() -> None:
    memory = process_memory()
    assert memory.peak_rss >= memory.rss > 1 * MIB
    assert memory.rss <= psutil.virtual_memory().total


def torch_with(**backend: object) -> SimpleNamespace:
    kind = SimpleNamespace(type="cuda")
    accelerators = SimpleNamespace(current_accelerator=lambda: kind)
    return SimpleNamespace(accelerator=accelerators, cuda=SimpleNamespace(**backend))


def test_the_allocator_of_torch_is_read_only_once_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    reset: list[bool] = []
    figures = {"memory_allocated": lambda: 1, "memory_reserved": lambda: 2, "max_memory_allocated": lambda: 3}
    figures["reset_peak_memory_stats"] = lambda: reset.append(True)
    monkeypatch.setitem(sys.modules, "torch", torch_with(is_initialized=lambda: False, **figures))
    assert TorchAllocator().read() is None
    TorchAllocator().reset_peak()
    assert reset == []
    monkeypatch.setitem(sys.modules, "torch", torch_with(is_initialized=lambda: True, **figures))
    assert TorchAllocator().read() == (1, 2, 3)
    TorchAllocator().reset_peak()
    assert reset == [True]


def test_numbers_that_an_allocator_does_not_report_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    metal = torch_with(is_available=lambda: True, current_allocated_memory=lambda: 1, driver_allocated_memory=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch", metal)
    assert TorchAllocator().read() == (1, 2, None)
    TorchAllocator().reset_peak()
    monkeypatch.delitem(sys.modules, "torch")
    assert TorchAllocator().read() is None
    assert "torch" not in sys.modules
