"""Read the memory of the process, and of the accelerator in use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil  # type: ignore[import-untyped]

from diffprof.runtime.timing.devices import is_in_use
from diffprof.runtime.timing.kept_peaks import own_peaks

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class MemorySnapshot:
    """The memory at one moment. Numbers of an accelerator are None without one, or if it does not report them."""

    label: str
    seconds: float
    """Seconds since the first snapshot."""
    rss_bytes: int
    peak_rss_bytes: int
    """Peak since the process started."""
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    max_allocated_bytes: int | None = None
    """Peak since the last snapshot; in the first one, since the process started."""

    def to_dict(self) -> dict[str, Any]:
        """All known values as a plain dictionary."""
        return {name: value for name, value in vars(self).items() if value is not None}


class ProcessMemory(NamedTuple):
    """Resident memory of the process, and its peak, in bytes."""

    rss: int
    peak_rss: int


class AllocatorMemory(NamedTuple):
    """Bytes of an accelerator's allocator; None for values that it does not report."""

    allocated: int | None
    reserved: int | None
    max_allocated: int | None


class Allocator(Protocol):
    """The interface to an accelerator's allocator; tests have their own."""

    def read(self) -> AllocatorMemory | None:
        """The current memory; None if no accelerator is in use."""

    def reset_peak(self) -> None:
        """Reset the peak."""


class TorchAllocator:
    """The allocator of torch's current accelerator, or of that with `index`. Does not import torch."""

    def __init__(self, index: int | None = None) -> None:
        self._place = () if index is None else (index,)

    def read(self) -> AllocatorMemory | None:
        backend = _backend()
        if backend is None:
            return None
        with own_peaks():
            allocated = self._read(backend, "memory_allocated", "current_allocated_memory")
            reserved = self._read(backend, "memory_reserved", "driver_allocated_memory")
            return AllocatorMemory(allocated, reserved, self._read(backend, "max_memory_allocated"))

    def reset_peak(self) -> None:
        reset = getattr(_backend(), "reset_peak_memory_stats", None)
        if reset is not None:
            with own_peaks():
                reset(*self._place)

    def _read(self, backend: Any, *names: str) -> int | None:
        """The value of the first of these functions that the backend has; names differ on Metal."""
        for name in names:
            if hasattr(backend, name):
                # Metal has one device, and its functions take none.
                place = self._place if name.startswith(("memory_", "max_")) else ()
                return int(getattr(backend, name)(*place))
        return None


def process_memory() -> ProcessMemory:
    """The memory of this process, as the operating system counts it."""
    memory = psutil.Process().memory_info()
    # The two values are not read at the same moment.
    return ProcessMemory(memory.rss, max(memory.rss, _peak_rss(memory)))


def _backend() -> Any:
    """``torch.cuda`` or a similar module, once the program uses it."""
    torch = sys.modules.get("torch")
    accelerators = getattr(torch, "accelerator", None)
    kind = accelerators.current_accelerator() if accelerators is not None else None
    backend = getattr(torch, kind.type, None) if kind is not None else None
    return backend if backend is not None and is_in_use(backend) else None


def _peak_rss(memory: Any) -> int:
    if hasattr(memory, "peak_wset"):  # Windows
        return int(memory.peak_wset)
    if STATUS.is_file():
        # Not getrusage, which includes the memory of the process before exec, such as that of a large parent.
        for line in STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if os.uname().sysname == "Darwin" else used * 1024
