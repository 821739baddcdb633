"""Record hits and misses of a user's own cache, also as events of a measured run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from diffprof.errors import RequestError
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration

_USED: WeakKeyDictionary[Any, dict[int, CacheRecorder]] = WeakKeyDictionary()
"""The recorders that were used in a pipeline, by its monitor."""
_LOCK = threading.Lock()


class CacheRecorder:
    """Counts the hits and misses of your own cache, and records its memory.

        kv = CacheRecorder("kv")
        if key in cache:
            kv.hit()
        else:
            kv.miss(nbytes=sum(value.nbytes for value in cache.values()))

    Inside a measured pipeline, each lookup is also an event of the run, with its step and time.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise RequestError(f"a cache is recorded under a name, such as 'kv', not under {name!r}")
        self.name = name
        self._lock = threading.Lock()
        self.hits = self.misses = 0
        self.held_bytes = self.most_held_bytes = 0

    def hit(self, module: Any = None, nbytes: int | None = None) -> None:
        """Record a hit. `module` is the module that was skipped, or its path; `nbytes` is the cache's current size."""
        self._record(True, module, nbytes)

    def miss(self, module: Any = None, nbytes: int | None = None) -> None:
        """Record a miss: the result had to be computed."""
        self._record(False, module, nbytes)

    def holds(self, nbytes: int) -> None:
        """Set the current size of the cache in bytes."""
        if nbytes < 0:
            raise RequestError(f"a cache cannot hold {nbytes} bytes")
        with self._lock:
            self.held_bytes = nbytes
            self.most_held_bytes = max(nbytes, self.most_held_bytes)

    @property
    def lookups(self) -> int:
        return self.hits + self.misses

    @property
    def rate(self) -> float | None:
        """The share of hits; None before the first lookup."""
        hits, misses = self.hits, self.misses
        return hits / (hits + misses) if hits + misses else None

    def reset(self) -> None:
        """Start again from zero."""
        with self._lock:
            self.hits = self.misses = 0
            self.held_bytes = self.most_held_bytes = 0

    def __repr__(self) -> str:
        return f"CacheRecorder({self.name!r}, hits={self.hits}, misses={self.misses})"

    def _record(self, hit: bool, module: Any, nbytes: int | None) -> None:
        if _is_dry_running():
            return
        if nbytes is not None:
            self.holds(nbytes)
        with self._lock:
            self.hits += hit
            self.misses += not hit
        iteration = current_iteration()
        if iteration is not None:
            component, path = _place(iteration, module)
            iteration.caches.append(CacheEvent(self.name, hit, iteration.now(), iteration.step, component, path))
            with _LOCK:
                _USED.setdefault(iteration.owner, {})[id(self)] = self


def recorded_cache_bytes(pipeline: Any) -> Mapping[str, int]:
    """The peak bytes of the user's own caches in this pipeline, by name."""
    with _LOCK:
        used = [
            recorder
            for monitor, recorders in _USED.items()
            if getattr(monitor, "pipeline", None) is pipeline
            for recorder in recorders.values()
        ]
    cache_bytes: dict[str, int] = {}
    for recorder in used:
        if recorder.most_held_bytes:
            cache_bytes[recorder.name] = cache_bytes.get(recorder.name, 0) + recorder.most_held_bytes
    return cache_bytes


def _is_dry_running() -> bool:
    """Whether a dry run is calling the user's code; without torch, there is none."""
    dry_run = sys.modules.get("diffprof.counting.isolation")
    return dry_run is not None and dry_run.is_dry_running()


def _place(iteration: IterationRecorder, module: Any) -> tuple[str | None, str]:
    if module is None or isinstance(module, str):
        return None, module or ""
    return iteration.slot_of(module) or (None, type(module).__name__)
