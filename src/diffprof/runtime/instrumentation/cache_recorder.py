"""A user's own cache: told by its owner what it did, it counts, and is written down in a pipeline that is measured."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from diffprof.errors import RequestError
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration


class CacheRecorder:
    """Counts the hits and misses of a cache that you made yourself, and how much memory it holds.

        kv = CacheRecorder("kv")
        if key in cache:
            kv.hit()
        else:
            kv.miss(nbytes=sum(value.nbytes for value in cache.values()))

    Where that happens in a pipeline that is being measured, it is also an event of that run, with step and time.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise RequestError(f"a cache is recorded under a name, such as 'kv', not under {name!r}")
        self.name = name
        self._lock = threading.Lock()
        self.hits = self.misses = 0
        self.held_bytes = self.most_held_bytes = 0

    def hit(self, module: Any = None, nbytes: int | None = None) -> None:
        """It had the result. `module` is what was skipped, or its path; `nbytes` what the cache holds now."""
        self._asked(True, module, nbytes)

    def miss(self, module: Any = None, nbytes: int | None = None) -> None:
        """The result had to be computed."""
        self._asked(False, module, nbytes)

    def holds(self, nbytes: int) -> None:
        """So many bytes are in the cache now."""
        if nbytes < 0:
            raise RequestError(f"a cache cannot hold {nbytes} bytes")
        with self._lock:
            self.held_bytes = nbytes
            self.most_held_bytes = max(nbytes, self.most_held_bytes)

    @property
    def asked(self) -> int:
        return self.hits + self.misses

    @property
    def rate(self) -> float | None:
        """The share of hits; None as long as it was not asked."""
        hits, misses = self.hits, self.misses
        return hits / (hits + misses) if hits + misses else None

    def reset(self) -> None:
        """Begin again with nothing."""
        with self._lock:
            self.hits = self.misses = 0
            self.held_bytes = self.most_held_bytes = 0

    def __repr__(self) -> str:
        return f"CacheRecorder({self.name!r}, hits={self.hits}, misses={self.misses})"

    def _asked(self, hit: bool, module: Any, nbytes: int | None) -> None:
        if _in_a_dry_run():
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


_USED: WeakKeyDictionary[Any, dict[int, CacheRecorder]] = WeakKeyDictionary()
"""Who watches a pipeline -> the recorders that were used in it."""
_LOCK = threading.Lock()


def memory_told(pipeline: Any) -> Mapping[str, int]:
    """The most bytes that the caches held of which a recorder was told inside of this pipeline."""
    with _LOCK:
        used = [
            one
            for watch, ones in _USED.items()
            if getattr(watch, "pipeline", None) is pipeline
            for one in ones.values()
        ]
    held: dict[str, int] = {}
    for recorder in used:
        if recorder.most_held_bytes:
            held[recorder.name] = held.get(recorder.name, 0) + recorder.most_held_bytes
    return held


def _in_a_dry_run() -> bool:
    """A pipeline that is counted calls the user's code once more. That needs torch; without it nothing is counted."""
    dry_run = sys.modules.get("diffprof.counting.dry_run")
    return dry_run is not None and dry_run.is_dry_running()


def _place(iteration: IterationRecorder, module: Any) -> tuple[str | None, str]:
    if module is None or isinstance(module, str):
        return None, module or ""
    return iteration.slot_of(module) or (None, type(module).__name__)
