"""Keep peak memory statistics correct for programs that read them, although diffprof resets them.

To measure the peak of each component, diffprof resets torch's peak before it. A program that prints
``torch.cuda.max_memory_allocated()`` after a measured call must still get the value that it would get without diffprof.
So torch's functions that read and reset these statistics are replaced, from diffprof's first reset until the program
itself resets the peak.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

FUNCTIONS = (
    ("cuda", "_cuda_memoryStats", "_cuda_resetPeakMemoryStats"),
    ("xpu", "_xpu_memoryStats", "_xpu_resetPeakMemoryStats"),
    (None, "_accelerator_getDeviceStats", "_accelerator_resetPeakStats"),
)
"""Device types, and the functions of ``torch._C`` that read and reset their statistics; those of ``torch.accelerator``
are for the type in use."""
PEAK = "peak"


class _Thread(threading.local):
    is_own = False
    """Whether diffprof itself reads and resets on this thread."""


_THREAD = _Thread()
_PEAKS: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
"""The peaks before diffprof's resets: by type and index of the device, then by statistic and pool."""
_ORIGINALS: dict[str, Callable[[int], Any]] = {}
"""The original functions of ``torch._C``, by name, while they are replaced."""


@contextlib.contextmanager
def own_peaks() -> Iterator[None]:
    """Inside the block, peaks are those since diffprof's own last reset, and resets keep the program's peaks."""
    before, _THREAD.is_own = _THREAD.is_own, True
    try:
        _replace_functions()
        yield
    finally:
        _THREAD.is_own = before


def _replace_functions() -> None:
    extension = getattr(sys.modules.get("torch"), "_C", None)
    for kind, stats, reset in FUNCTIONS:
        if stats in _ORIGINALS or not hasattr(extension, stats) or not hasattr(extension, reset):
            continue
        _ORIGINALS[stats], _ORIGINALS[reset] = getattr(extension, stats), getattr(extension, reset)
        setattr(extension, stats, _stats_function(kind, _ORIGINALS[stats]))
        setattr(extension, reset, _reset_function(kind, _ORIGINALS[stats], _ORIGINALS[reset]))


def _stats_function(kind: str | None, original: Callable[[int], Any]) -> Callable[[int], Any]:
    def memory_stats(device: int) -> Any:
        stats = original(device)
        kept = {} if _THREAD.is_own else _PEAKS.get(_place(kind, device), {})
        for (name, pool), peak in kept.items():
            values = stats.get(name, {}).get(pool)
            if values is not None:  # not every function reports all of them
                values[PEAK] = max(peak, values[PEAK])
        return stats

    return memory_stats


def _reset_function(
    kind: str | None, original_stats: Callable[[int], Any], original: Callable[[int], Any]
) -> Callable[[int], Any]:
    def reset_peak_memory_stats(device: int) -> Any:
        place = _place(kind, device)
        if _THREAD.is_own:
            kept = _PEAKS.setdefault(place, {})
            for statistic, peak in _peaks_in(original_stats(device)):
                kept[statistic] = max(peak, kept.get(statistic, 0))
            return original(device)
        _PEAKS.pop(place, None)
        if not _PEAKS:
            _restore_functions()
        return original(device)

    return reset_peak_memory_stats


def _place(kind: str | None, device: int) -> tuple[str, int]:
    accelerator: Any = sys.modules["torch"].accelerator.current_accelerator() if kind is None else None
    return str(kind or getattr(accelerator, "type", "")), device


def _peaks_in(stats: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], int]]:
    for name, pools in stats.items():
        if isinstance(pools, dict):
            for pool, values in pools.items():
                if isinstance(values, dict) and PEAK in values:
                    yield (name, pool), values[PEAK]


def _restore_functions() -> None:
    extension = getattr(sys.modules.get("torch"), "_C", None)
    while _ORIGINALS:
        name, original = _ORIGINALS.popitem()
        setattr(extension, name, original)
