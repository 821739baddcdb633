"""Intercept functions of classes, and restore them when no handler is left."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from diffprof.pipelines.patching import DRY_RUN_LOCK

Handler = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Makes a call with the original function, the object and the arguments, and returns its result."""

_ABSENT = object()
_FUNCTIONS: dict[tuple[type, str], _InterceptedFunction] = {}


def intercept(owner: type, name: str, handler: Handler) -> Callable[[], None]:
    """Let `handler` make every call of ``owner.name``, until the returned function is called.

    Handlers of the same function nest, the latest outermost, and can be removed in any order.
    """
    with DRY_RUN_LOCK:
        intercepted = _FUNCTIONS.get((owner, name))
        if intercepted is None:
            intercepted = _FUNCTIONS[owner, name] = _InterceptedFunction(owner, name)
        intercepted.handlers = (handler, *intercepted.handlers)
    return functools.partial(_remove, intercepted, handler)


def intercept_own(subject: Any, name: str, handler: Handler) -> Callable[[], None]:
    """Intercept a function that was set on an object itself; only calls through the object are seen."""
    original = vars(subject)[name]

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return handler(lambda subject, *args, **kwargs: original(*args, **kwargs), subject, args, kwargs)

    def restore() -> None:
        if vars(subject).get(name) is wrapper:  # another one may have been set meanwhile
            vars(subject)[name] = original

    vars(subject)[name] = wrapper
    return restore


def _remove(intercepted: _InterceptedFunction, handler: Handler) -> None:
    with DRY_RUN_LOCK:
        if handler not in intercepted.handlers:
            return
        remaining = list(intercepted.handlers)
        remaining.remove(handler)
        intercepted.handlers = tuple(remaining)
        if not remaining:
            intercepted.restore()
            del _FUNCTIONS[intercepted.owner, intercepted.name]


class _InterceptedFunction:
    """A replaced function."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name
        self.handlers: tuple[Handler, ...] = ()
        self._own = vars(owner).get(name, _ABSENT)
        original = self._own if self._own is not _ABSENT else _inherited_function(owner, name)

        @functools.wraps(original)
        def wrapper(subject: Any, *args: Any, **kwargs: Any) -> Any:
            return _call(self.handlers, original, subject, args, kwargs)

        setattr(owner, name, wrapper)

    def restore(self) -> None:
        if self._own is _ABSENT:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self._own)


def _inherited_function(owner: type, name: str) -> Callable[..., Any]:
    """A function that calls the inherited one, looked up at each call, because a dry run may have replaced it."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call_inherited(subject: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(owner, subject), name)(*args, **kwargs)

    return call_inherited


def _call(handlers: tuple[Handler, ...], original: Any, subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    if not handlers:
        return original(subject, *args, **kwargs)
    first, *rest = handlers
    if rest:
        remaining = tuple(rest)

        def call_remaining(subject: Any, *args: Any, **kwargs: Any) -> Any:
            return _call(remaining, original, subject, args, kwargs)

        return first(call_remaining, subject, args, kwargs)
    return first(original, subject, args, kwargs)
