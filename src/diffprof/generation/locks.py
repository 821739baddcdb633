"""Locks that let one thread at a time call a pipeline, and that raise an error instead of a deadlock."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from diffprof.errors import RequestError

_FREED = threading.Condition()
"""Guards all state below, and notifies waiting threads."""


class PipelineLock:
    """A reentrant lock of one pipeline."""

    def __init__(self) -> None:
        self.owner: int | None = None
        self._depth = 0

    def __enter__(self) -> PipelineLock:
        me = threading.get_ident()
        with _FREED:
            while self.owner not in (None, me):
                if _would_wait_for_itself(me, self):
                    raise RequestError(
                        "two threads use two models in opposite order, and each would wait for the other forever; "
                        "use the models in the same order in every thread, or one after the other"
                    )
                _WAITING[me] = self
                try:
                    _FREED.wait()
                finally:
                    del _WAITING[me]
            self.owner = me
            self._depth += 1
        return self

    def __exit__(self, *ended: object) -> None:
        with _FREED:
            self._depth -= 1
            if not self._depth:
                self.owner = None
                _FREED.notify_all()


_LOCKS: weakref.WeakKeyDictionary[Any, PipelineLock] = weakref.WeakKeyDictionary()
_WAITING: dict[int, PipelineLock] = {}
"""The lock that each waiting thread waits for."""


def pipeline_lock(pipeline: Any) -> PipelineLock:
    """The lock to hold while calling this pipeline: its scheduler and hooks support one call at a time."""
    with _FREED:
        return _LOCKS.setdefault(pipeline, PipelineLock())


def _forget_other_threads() -> None:
    """Reset the locks in a forked process, which has only the thread that forked."""
    _FREED._at_fork_reinit()  # type: ignore[attr-defined]
    _WAITING.clear()
    me = threading.get_ident()
    for pipeline, lock in list(_LOCKS.items()):
        if lock.owner not in (None, me):
            _LOCKS[pipeline] = PipelineLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


def _would_wait_for_itself(thread: int, lock: PipelineLock) -> bool:
    """Whether the owner of the lock waits, directly or through other threads, for a lock of this thread."""
    owner = lock.owner
    while owner is not None and owner != thread:
        awaited = _WAITING.get(owner)
        owner = awaited.owner if awaited is not None else None
    return owner == thread
