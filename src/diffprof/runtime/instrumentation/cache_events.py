"""diffusers' own caches while a pipeline is watched: each time one is asked, and what all of them hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from diffprof.counting.dry_run import is_dry_running
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.cache_lookups import (
    DECIDING_METHODS,
    Answer,
    Observed,
    cache_of,
    class_of_hooks,
    observed_attributes,
)
from diffprof.runtime.instrumentation.cache_memory import look_at, memory_held
from diffprof.runtime.instrumentation.cache_replay import replayed_decisions, without_caches
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration

__all__ = ["memory_held", "replayed_decisions", "watch_caches", "without_caches"]


def watch_caches() -> Callable[[], None]:
    """Write down each decision of a cache in the iteration that it falls into, until the given function is called.

    What counts as a decision is said in `cache_lookups`. Caches may be put on a pipeline before or after. In code that
    `torch.compile` has compiled, PyramidAttentionBroadcast, FasterCache and TextKVCache cannot be seen.
    """
    with DRY_RUN_LOCK:
        if not _WATCHES:
            _UNDO.extend(_begin())
        watch = object()
        _WATCHES.append(watch)
    return functools.partial(_end, watch)


_WATCHES: list[object] = []
_UNDO: list[Callable[[], None]] = []
"""Several watches share what is changed in diffusers: an event belongs to one iteration, however many are watched."""


def _end(watch: object) -> None:
    with DRY_RUN_LOCK:
        if watch in _WATCHES:
            _WATCHES.remove(watch)
            while not _WATCHES and _UNDO:
                _UNDO.pop()()


def _begin() -> list[Callable[[], None]]:
    from diffusers.hooks.hooks import HookFunctionReference, HookRegistry

    undo = [intercept(HookRegistry, "reset_stateful_hooks", _emptying)]
    for method in DECIDING_METHODS:
        owner = class_of_hooks(method.module, method.owner)
        if owner is not None:
            undo.append(intercept(owner, method.name, functools.partial(method.call, _asked)))
            # Compiled code calls it: what looks on must not be compiled as well.
            setattr(owner, method.name, torch.compiler.disable(getattr(owner, method.name)))
    for name, attribute in observed_attributes().items():
        setattr(HookFunctionReference, name, attribute)
        undo.append(functools.partial(delattr, HookFunctionReference, name))
    Observed.asked = _asked
    undo.append(_no_longer_asked)
    return undo


def _no_longer_asked() -> None:
    Observed.asked = None


def _here() -> IterationRecorder | None:
    return None if is_dry_running() else current_iteration()


EMPTIED_BY_ITSELF = frozenset({"MagCache"})
"""After its last step. All others are full until the pipeline empties them."""


def _asked(cache: str, hook: Any, module: Any) -> Answer | None:
    iteration = _here()
    place = iteration.slot_of(module) if iteration is not None else None
    if iteration is None or place is None:
        return None
    if cache in EMPTIED_BY_ITSELF:
        look_at(hook)
    return functools.partial(
        _record_lookup, iteration, len(iteration.caches), cache, iteration.now(), iteration.step, place
    )


def _record_lookup(
    iteration: IterationRecorder,
    number: int,
    cache: str,
    at_ns: int,
    step: int | None,
    place: tuple[str, str],
    hit: bool,
) -> None:
    # Modules inside of this one were asked later and have answered before.
    iteration.caches.insert(number, CacheEvent(cache, hit, at_ns, step, *place))


def _emptying(original: Callable[..., Any], registry: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    iteration = _here()
    if iteration is not None and iteration.slot_of(registry._module_ref) is not None:
        for hook in registry.hooks.values():
            if cache_of(hook) is not None:
                look_at(hook)
    return original(registry, *args, **kwargs)
