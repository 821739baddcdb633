"""Read the memory at one moment of a run, as cheaply as possible, because this happens at both ends of every call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diffprof.record.measured import DevicePoint, MemoryPoint
from diffprof.runtime.timing.kept_peaks import own_peaks
from diffprof.runtime.timing.memory_snapshots import Allocator, AllocatorMemory, TorchAllocator, process_memory

KIBIBYTE = 1024
STATM = Path("/proc/self/statm")
LONGEST_STATM = 256
_OPEN: dict[str, int] = {}


class MemoryReader:
    """Reads the memory of the process, and of the device of `allocator`."""

    def __init__(self, allocator: Allocator | None = None, others: Mapping[str, Allocator] | None = None) -> None:
        """`others` are the allocators of further devices, by the name of the device."""
        self._allocator = allocator
        self._others = dict(others or {})
        self.problem: str | None = None
        """Why a device's memory is no longer read."""
        # The kernel's peak is fast to read, but may be that of the program that started this one.
        self._page = os.sysconf("SC_PAGE_SIZE") if STATM.is_file() and _is_own_peak() else 0

    def point(self, label: str, at_ns: int, sample: int | None = None) -> MemoryPoint:
        """Read the current memory, and reset the peak of the device."""
        rss, peak_rss = self._process()
        try:
            device = _read_and_reset(self._allocator) if self._allocator is not None else None
        except Exception as error:  # noqa: BLE001  such as an allocator of the program's own, which has no statistics
            device, self._allocator, self.problem = None, None, f"{type(error).__name__}: {error}"
        if device is None:
            return MemoryPoint(label, at_ns, rss, peak_rss, sample=sample)
        return MemoryPoint(label, at_ns, rss, peak_rss, device.allocated, device.reserved, device.max_allocated, sample)

    def other_points(self, label: str, at_ns: int, sample: int | None = None) -> Iterator[DevicePoint]:
        """Read the current memory of further devices, and reset their peaks."""
        for device, allocator in list(self._others.items()):
            try:
                memory = _read_and_reset(allocator)
            except Exception as error:  # noqa: BLE001  as above
                memory, self.problem = None, f"{type(error).__name__}: {error}"
                del self._others[device]
            if memory is not None:
                yield DevicePoint(device, label, at_ns, memory.allocated, memory.reserved, memory.max_allocated, sample)

    def _process(self) -> tuple[int, int]:
        if not self._page:
            return process_memory()
        rss = int(os.pread(_statm(), LONGEST_STATM, 0).split()[1]) * self._page
        return rss, max(rss, _kernel_peak())


def _read_and_reset(allocator: Allocator) -> AllocatorMemory | None:
    memory = allocator.read()
    if memory is not None:
        allocator.reset_peak()
    return memory


def _statm() -> int:
    """The open file, because opening it each time would take most of the time. A forked process opens its own."""
    if _OPEN.get("process") != os.getpid():
        _OPEN["file"], _OPEN["process"] = os.open(STATM, os.O_RDONLY | os.O_CLOEXEC), os.getpid()
    return _OPEN["file"]


def _is_own_peak() -> bool:
    return _kernel_peak() <= process_memory().peak_rss


def _kernel_peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE


class DeviceAllocator(TorchAllocator):
    """The allocator of the device in use; CUDA's is read without sorting a hundred values by name."""

    def read(self) -> AllocatorMemory | None:
        cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
        if cuda is None or not cuda.is_initialized():
            return super().read()
        with own_peaks():
            stats = cuda.memory.memory_stats_as_nested_dict(*self._place)
        if not stats:
            return super().read()
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        return AllocatorMemory(allocated["current"], reserved["current"], allocated["peak"])
