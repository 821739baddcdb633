"""What diffusers' caches hold in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch

from diffprof.runtime.instrumentation.cache_lookups import cache_hooks, cache_of
from diffprof.runtime.instrumentation.cache_recorder import memory_told


def memory_held(pipeline: Any) -> dict[str, int]:
    """The most bytes that each cache of the pipeline held since this was asked last, what it holds now included.

    Pipelines empty their caches before they return: while one is watched, they are looked at just before. Of a user's
    own cache it is what its `CacheRecorder` was told.
    """
    holders: dict[str, dict[int, Any]] = {}
    for _, _, hook in cache_hooks(pipeline):
        for holder in _holders(hook):
            holders.setdefault(cache_of(hook) or "", {})[id(holder)] = holder
    held = {
        cache: sum(max(_bytes_in(holder), _MOST.pop(holder, 0)) for holder in parts.values())
        for cache, parts in holders.items()
    }
    return {**held, **memory_told(pipeline)}


def look_at(hook: Any) -> None:
    """Remember what the hook holds, if it never held more."""
    for holder in _holders(hook):
        held = _bytes_in(holder)
        if held > _MOST.get(holder, 0):
            _MOST[holder] = held


_MOST: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def _holders(hook: Any) -> Iterator[Any]:
    """The objects of a hook that keep tensors; hooks of one cache may share them."""
    for name in ("state", "state_manager", "block_state_manager"):
        holder = vars(hook).get(name)
        if holder is not None:
            yield holder


def _bytes_in(holder: Any) -> int:
    """Of all tensors in it; what shares its memory is counted once, and as all of that memory, which it keeps."""
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
