"""Functions of classes that somebody looks at while they are called; put back when nobody does any more."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from diffprof.pipelines.patching import DRY_RUN_LOCK

Handler = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Is given the original function, the object, and the arguments; makes the call and gives its result."""


def intercept(owner: type, name: str, handler: Handler) -> Callable[[], None]:
    """Let `handler` make every call of ``owner.name``, until the function that this gives back is called.

    Several handlers of one function nest, the latest outermost, and may leave in any order.
    """
    # A dry run changes the same classes: it begins and ends between two changes that are made here, never across one.
    with DRY_RUN_LOCK:
        intercepted = _INTERCEPTED.get((owner, name))
        if intercepted is None:
            intercepted = _INTERCEPTED[owner, name] = _Intercepted(owner, name)
        intercepted.handlers = (handler, *intercepted.handlers)
    return functools.partial(_leave, intercepted, handler)


def intercept_own(subject: Any, name: str, handler: Handler) -> Callable[[], None]:
    """The same for a function that somebody has put on this very object; only calls through the object are seen."""
    original = vars(subject)[name]

    @functools.wraps(original)
    def intercepted(*args: Any, **kwargs: Any) -> Any:
        return handler(lambda subject, *args, **kwargs: original(*args, **kwargs), subject, args, kwargs)

    def put_back() -> None:
        if vars(subject).get(name) is intercepted:  # else its owner has put another one there meanwhile
            vars(subject)[name] = original

    vars(subject)[name] = intercepted
    return put_back


def _leave(intercepted: _Intercepted, handler: Handler) -> None:
    with DRY_RUN_LOCK:
        if handler not in intercepted.handlers:
            return
        left = list(intercepted.handlers)
        left.remove(handler)
        intercepted.handlers = tuple(left)
        if not left:
            intercepted.put_back()
            del _INTERCEPTED[intercepted.owner, intercepted.name]


class _Intercepted:
    """One function that was replaced."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name
        self.handlers: tuple[Handler, ...] = ()
        self._own = vars(owner).get(name, _ABSENT)
        original = self._own if self._own is not _ABSENT else _inherited(owner, name)

        @functools.wraps(original)
        def intercepted(subject: Any, *args: Any, **kwargs: Any) -> Any:
            return _call(self.handlers, original, subject, args, kwargs)

        setattr(owner, name, intercepted)

    def put_back(self) -> None:
        if self._own is _ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._own)


def _inherited(owner: type, name: str) -> Callable[..., Any]:
    """The function that the class has from another; looked up at each call, as a dry run may have replaced it there."""
    found = getattr(owner, name)

    @functools.wraps(found)
    def inherited(subject: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(owner, subject), name)(*args, **kwargs)

    return inherited


def _call(handlers: tuple[Handler, ...], original: Any, subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    if not handlers:
        return original(subject, *args, **kwargs)
    first, *rest = handlers
    if rest:
        remaining = tuple(rest)

        def original_of_first(subject: Any, *args: Any, **kwargs: Any) -> Any:
            return _call(remaining, original, subject, args, kwargs)

        return first(original_of_first, subject, args, kwargs)
    return first(original, subject, args, kwargs)


_ABSENT = object()
_INTERCEPTED: dict[tuple[type, str], _Intercepted] = {}
