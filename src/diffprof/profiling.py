"""Time, memory and traces of any code, with the names that users of the original guides know.

    with profile_section("vae_decode"):
        image = vae.decode(latents)

    get_global_stats().print_summary()

Sections nest: one opened inside another is listed as ``outer/inner``. Torch is not needed, and not imported; where a
program uses an accelerator, the time of its work there is measured too, without waiting for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

from diffprof.record.atomic_files import replace_file
from diffprof.render.guides.memory_summary import memory_summary
from diffprof.render.guides.timing_summary import iteration_summary, timing_summary
from diffprof.runtime.instrumentation.cache_recorder import CacheRecorder
from diffprof.runtime.timing.functions import time_function
from diffprof.runtime.timing.loop_timer import LoopTimer
from diffprof.runtime.timing.memory_log import MemoryFinding, MemoryLog
from diffprof.runtime.timing.memory_snapshots import MemorySnapshot
from diffprof.runtime.timing.sections import DISABLED_SECTION, DisabledSection, Section, SectionRecorder
from diffprof.runtime.timing.statistics import Timings
from diffprof.runtime.timing.trace_recorder import TraceFile, TraceRecorder, TraceWarning

__all__ = [
    "CacheRecorder",
    "IterationProfiler",
    "MemoryFinding",
    "MemorySnapshot",
    "MemoryTracker",
    "PyTorchProfiler",
    "TimingStats",
    "TraceFile",
    "TraceWarning",
    "disable",
    "enable",
    "get_global_stats",
    "is_enabled",
    "profile_function",
    "profile_section",
    "reset",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def profile_section(name: str, sync: bool = False) -> Section | DisabledSection:
    """A context manager that times what happens inside it, into `get_global_stats()`.

    With `sync` both ends wait for the accelerator, so that the host time is that of the work itself.
    """
    # Inlined, not `_RECORDER.section`: one call less in what is meant to cost nothing.
    return Section(_RECORDER, name, sync) if _RECORDER.enabled else DISABLED_SECTION


@overload
def profile_function(name: Function, /) -> Function: ...
@overload
def profile_function(name: str | None = None, /) -> Callable[[Function], Function]: ...
def profile_function(name: Any = None, /) -> Any:
    """Time every call of a function, method, coroutine or generator; by its own name where none is given.

    A generator is counted once, with the time that it ran itself, without its consumer.
    """
    if name is None or isinstance(name, str):
        return lambda function: time_function(_RECORDER, function, name)
    return time_function(_RECORDER, name)


def get_global_stats() -> TimingStats:
    """The times of all sections and functions of this process."""
    return _STATS


def enable() -> None:
    """Time sections and functions; this is the default."""
    _RECORDER.enabled = True


def disable() -> None:
    """Stop timing sections and functions: they cost next to nothing then."""
    _RECORDER.enabled = False


def is_enabled() -> bool:
    """Whether sections and functions are timed."""
    return _RECORDER.enabled


def reset() -> None:
    """Delete all times of sections and functions."""
    _STATS.reset()


class TimingStats(Timings):
    """Times by name, from any thread: `record` them, read `get_stats(name)` and `get_all_stats()`, or print a table."""

    def summary(self, top_n: int | None = 20) -> str:
        """The table that `print_summary` prints."""
        return timing_summary(self.get_all_stats(), top_n)

    def print_summary(self, top_n: int | None = 20) -> None:
        """Print the operations with the largest total time; all of them with ``top_n=None``."""
        _print(self.summary(top_n))


class MemoryTracker(MemoryLog):
    """Snapshots of the memory at named moments: of the process, and of the accelerator where one is in use."""

    def summary(self) -> str:
        """The table that `print_summary` prints."""
        return memory_summary(self.to_dict())

    def print_summary(self) -> None:
        """Print all snapshots, and what stands out."""
        _print(self.summary())

    def export_json(self, path: str | Path) -> Path:
        """Write all snapshots and findings to a file, atomically."""
        return replace_file(path, json.dumps(self.to_dict(), indent=2).encode())


class IterationProfiler(LoopTimer):
    """Times each iteration of a loop (``with profiler.iteration(): ...``), the first `warmup` apart from the others."""

    def summary(self) -> str:
        """The table that `print_summary` prints."""
        return iteration_summary(self.to_dict())

    def print_summary(self) -> None:
        """Print mean, median, min, max and spread, the warm-up apart, and the first iteration."""
        _print(self.summary())


class PyTorchProfiler(TraceRecorder):
    __doc__ = TraceRecorder.__doc__


def _print(text: str) -> None:
    # A name may have characters that the terminal cannot show: that must not end a program.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(f"{text}\n".encode(encoding, "replace").decode(encoding))


_STATS = TimingStats()
_RECORDER = SectionRecorder(_STATS)
