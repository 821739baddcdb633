"""The memory of diffusers' caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch

from diffprof.runtime.instrumentation.cache_lookups import cache_hooks, cache_of
from diffprof.runtime.instrumentation.cache_recorder import recorded_cache_bytes

_PEAKS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Peak bytes of each object with cached tensors."""


def peak_cache_bytes(pipeline: Any) -> dict[str, int]:
    """The peak bytes of each cache of the pipeline since the last call of this function.

    Pipelines empty their caches before they return; while one is monitored, they are read just before that. The size of
    a user's own cache comes from its `CacheRecorder`.
    """
    holders: dict[str, dict[int, Any]] = {}
    for _, _, hook in cache_hooks(pipeline):
        for holder in _holders(hook):
            holders.setdefault(cache_of(hook) or "", {})[id(holder)] = holder
    cache_bytes = {
        cache: sum(max(_bytes_in(holder), _PEAKS.pop(holder, 0)) for holder in parts.values())
        for cache, parts in holders.items()
    }
    return {**cache_bytes, **recorded_cache_bytes(pipeline)}


def update_peak(hook: Any) -> None:
    """Update the peak with the hook's current memory."""
    for holder in _holders(hook):
        held_bytes = _bytes_in(holder)
        if held_bytes > _PEAKS.get(holder, 0):
            _PEAKS[holder] = held_bytes


def _holders(hook: Any) -> Iterator[Any]:
    """The objects of a hook that hold tensors; hooks of one cache may share them."""
    for name in ("state", "state_manager", "block_state_manager"):
        holder = vars(hook).get(name)
        if holder is not None:
            yield holder


def _bytes_in(holder: Any) -> int:
    """Bytes of the storages of all tensors in it; each storage counts once and as a whole."""
    storages = {}
    for tensor in _tensors(holder):
        if not tensor.is_meta:
            storage = tensor.untyped_storage()
            storages[storage._cdata] = storage.nbytes()
    return sum(storages.values())


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif type(value).__module__.startswith("diffusers.hooks."):
        yield from _tensors(vars(value).get("_state_cache", vars(value)))
