"""Change classes and modules for the time of a dry run, and only for its thread."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

DRY_RUN_LOCK = threading.RLock()
"""Allows one dry run at a time, because they change classes. Other threads are not affected, see `Patches.function`."""


def _release_lock_in_child() -> None:
    """Release the lock in a forked process, which does not have the thread that holds it."""
    if not DRY_RUN_LOCK._is_owned():  # type: ignore[attr-defined]
        DRY_RUN_LOCK._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_lock_in_child)

_ABSENT = object()


class Patches:
    """Replaces attributes and restores the same objects in reverse order, even after an exception."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []
        self._thread = threading.get_ident()

    def set(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def function(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace a function by `make(original)` for this thread; other threads get the original."""
        original = vars(owner)[name] if name in vars(owner) else getattr(owner, name)
        replacement = make(original)
        thread = self._thread

        @functools.wraps(original)
        def for_this_thread(*args: Any, **kwargs: Any) -> Any:
            return (replacement if threading.get_ident() == thread else original)(*args, **kwargs)

        self.set(owner, name, staticmethod(for_this_thread) if isinstance(original, staticmethod) else for_this_thread)

    def property(self, owner: Any, name: str, value: Any) -> None:
        """Give a property this value for this thread; other threads get the original."""
        original, thread = vars(owner)[name], self._thread

        def read(instance: Any) -> Any:
            return value if threading.get_ident() == thread else original.__get__(instance)

        self.set(owner, name, property(read))

    def undo(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    def __enter__(self) -> Patches:
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()
