"""Keeps the peaks of an accelerator's memory that diffprof resets, for a program that reads them itself.

The peak of each component is known only if torch's peak is reset before it. A program that prints
``torch.cuda.max_memory_allocated()`` after a measured call must be told what it would have been told without diffprof:
torch's own functions for the statistics and for resetting them are replaced from the first reset of diffprof's until
the program itself resets the peak.
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
"""Kind of device, and the functions of ``torch._C`` that read and reset its statistics; those of ``torch.accelerator``
are for the kind that is in use."""
PEAK = "peak"


class _Thread(threading.local):
    is_own = False
    """Whether it is diffprof that reads and resets."""


_THREAD = _Thread()
_PEAKS: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
"""Kind and index of a device -> statistic and pool -> its peak before the resets."""
_ORIGINALS: dict[str, Callable[[int], Any]] = {}
"""Name of a function of ``torch._C`` -> the function itself, while it is replaced."""


@contextlib.contextmanager
def own_peaks() -> Iterator[None]:
    """Inside, peaks are those since diffprof's own last reset, and resets keep the program's peaks."""
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
            if values is not None:  # not every function tells all of them
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
