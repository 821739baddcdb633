"""Record lookups in diffusers' caches, and their memory, while a pipeline is monitored."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from diffprof.counting.isolation import is_dry_running
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.cache_lookups import (
    DECIDING_METHODS,
    ObservedAttribute,
    OnResult,
    cache_of,
    hook_class,
    observed_attributes,
)
from diffprof.runtime.instrumentation.cache_memory import update_peak
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration

EMPTIED_BY_ITSELF = frozenset({"MagCache"})
"""Caches that empty themselves after the last step. All others keep their contents until the pipeline empties them."""

_MONITORS: list[object] = []
_UNDO: list[Callable[[], None]] = []
"""The monitors that share the patches of diffusers; an event is recorded once, in its own iteration."""


def record_cache_events() -> Callable[[], None]:
    """Record each cache lookup in the current iteration, until the returned function is called.

    `cache_lookups` defines what a lookup is. Caches may be enabled before or after this call. In compiled code,
    PyramidAttentionBroadcast, FasterCache and TextKVCache cannot be observed.
    """
    with DRY_RUN_LOCK:
        if not _MONITORS:
            _UNDO.extend(_patch_diffusers())
        monitor = object()
        _MONITORS.append(monitor)
    return functools.partial(_end, monitor)


def _end(monitor: object) -> None:
    with DRY_RUN_LOCK:
        if monitor in _MONITORS:
            _MONITORS.remove(monitor)
            while not _MONITORS and _UNDO:
                _UNDO.pop()()


def _patch_diffusers() -> list[Callable[[], None]]:
    from diffusers.hooks.hooks import HookFunctionReference, HookRegistry

    undo = [intercept(HookRegistry, "reset_stateful_hooks", _wrap_reset)]
    for method in DECIDING_METHODS:
        owner = hook_class(method.module, method.owner)
        if owner is not None:
            undo.append(intercept(owner, method.name, functools.partial(method.call, _begin_lookup)))
            # Compiled code calls it; the wrapper itself must not be compiled.
            setattr(owner, method.name, torch.compiler.disable(getattr(owner, method.name)))
    for name, attribute in observed_attributes().items():
        setattr(HookFunctionReference, name, attribute)
        undo.append(functools.partial(delattr, HookFunctionReference, name))
    ObservedAttribute.on_lookup = _begin_lookup
    undo.append(_stop_lookups)
    return undo


def _stop_lookups() -> None:
    ObservedAttribute.on_lookup = None


def _measured_iteration() -> IterationRecorder | None:
    return None if is_dry_running() else current_iteration()


def _begin_lookup(cache: str, hook: Any, module: Any) -> OnResult | None:
    iteration = _measured_iteration()
    place = iteration.slot_of(module) if iteration is not None else None
    if iteration is None or place is None:
        return None
    if cache in EMPTIED_BY_ITSELF:
        update_peak(hook)
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
    # Lookups of nested modules start later and finish earlier.
    iteration.caches.insert(number, CacheEvent(cache, hit, at_ns, step, *place))


def _wrap_reset(original: Callable[..., Any], registry: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    iteration = _measured_iteration()
    if iteration is not None and iteration.slot_of(registry._module_ref) is not None:
        for hook in registry.hooks.values():
            if cache_of(hook) is not None:
                update_peak(hook)
    return original(registry, *args, **kwargs)
