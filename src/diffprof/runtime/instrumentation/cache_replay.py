"""Caches in a dry run: the decisions of a real run taken again, or no caches at all."""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from diffprof.errors import DiffprofError
from diffprof.pipelines.components import components_of, unwrap_compiled
from diffprof.pipelines.patching import Patches
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.cache_lookups import (
    DECIDING_METHODS,
    FIRST_BLOCK_CACHE,
    SEA_CACHE,
    Answer,
    Asked,
    Observed,
    cache_hooks,
    class_of_hooks,
    observed_attributes,
)

Changes = Callable[[Any, Patches], None]

DECIDED_BY_VALUES = frozenset({FIRST_BLOCK_CACHE, SEA_CACHE})
"""Caches that compare tensors. All others decide by the number of the step, which a dry run knows as well."""


def replayed_decisions(events: Sequence[CacheEvent]) -> Changes:
    """Changes for a dry run, in which each cache decides as it did in the iteration that these events are of.

    A cache that decides by values is told what to decide. One that decides by itself is checked: `DiffprofError` where
    it decides otherwise than it did.
    """

    def change(pipeline: Any, patches: Patches) -> None:
        replay = _Replay(pipeline, events)
        for module, _, hook in cache_hooks(pipeline):
            if hook._is_stateful:
                hook.reset_state(module)  # a call that was broken off may have left something
        _tell(replay, patches)
        _observe(replay, patches)

    return change


def without_caches(pipeline: Any) -> None:
    """Let every module with a cache be called as if it had none. For `prepare` of a dry run, which puts that back."""
    for module, name, hook in cache_hooks(pipeline):
        registry, reference = vars(module)["_diffusers_hook"], hook.fn_ref
        hook.deinitalize_hook(module)  # SeaCache also stands in for a method of the module
        reference.pre_forward, reference.post_forward = _inputs_as_they_are, _output_as_it_is
        if reference.original_forward is not None:
            reference.forward = reference.original_forward
        number = registry._hook_order.index(name)
        del registry.hooks[name], registry._hook_order[number], registry._fn_refs[number]


def _inputs_as_they_are(module: Any, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def _output_as_it_is(module: Any, output: Any) -> Any:
    return output


class _Replay:
    """The recorded decisions of each module, in order."""

    def __init__(self, pipeline: Any, events: Sequence[CacheEvent]) -> None:
        self._thread = threading.get_ident()
        self._places = {
            id(module): (slot, path)
            for slot, part in reversed(components_of(pipeline).items())
            for path, module in unwrap_compiled(part).named_modules()
        }
        self._recorded: dict[tuple[str, str | None, str], deque[bool]] = {}
        for event in events:
            self._recorded.setdefault((event.cache, event.component, event.module), deque()).append(event.hit)
        self.told: bool | None = None
        """What the cache that is being asked has to decide; None where it may decide itself."""

    def asked(self, others: Asked | None, cache: str, hook: Any, module: Any) -> Answer | None:
        if threading.get_ident() != self._thread:
            return others(cache, hook, module) if others is not None else None
        self.told = None
        place = self._places.get(id(module))
        if place is None:  # of another pipeline
            return None
        recorded = self._recorded.get((cache, *place))
        if recorded:
            self.told = recorded.popleft()
            return functools.partial(self._answered, cache, place, self.told)
        if recorded is None and cache not in DECIDED_BY_VALUES:
            return None
        raise DiffprofError(f"it is not known what {cache} at {_text(place)} decided in the real run")

    def _answered(self, cache: str, place: tuple[str, str], told: bool, hit: bool) -> None:
        if hit != told:
            raise DiffprofError(
                f"{cache} at {_text(place)} {_did(told)} in the real run and {_did(hit)} in the dry run; "
                "a call before it may have left something in the cache"
            )


def _text(place: tuple[str, str]) -> str:
    return ".".join(place).rstrip(".")


def _did(hit: bool) -> str:
    return "had the result" if hit else "computed"


def _observe(replay: _Replay, patches: Patches) -> None:
    from diffusers.hooks.hooks import HookFunctionReference

    for name, attribute in observed_attributes().items():
        if name not in vars(HookFunctionReference):  # else they are there for somebody who watches
            patches.set(HookFunctionReference, name, attribute)
    patches.set(Observed, "asked", functools.partial(replay.asked, Observed.asked))
    for method in DECIDING_METHODS:
        owner = class_of_hooks(method.module, method.owner)
        if owner is not None:
            patches.function(owner, method.name, functools.partial(_observed, method.call, replay))


def _observed(call: Callable[..., Any], replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    def observed(hook: Any, *args: Any, **kwargs: Any) -> Any:
        return call(functools.partial(replay.asked, None), original, hook, args, kwargs)

    return observed


def _tell(replay: _Replay, patches: Patches) -> None:
    for module, owner, name, told in (
        ("first_block_cache", "FBCHeadBlockHook", "_should_compute_remaining_blocks", _told_first_block),
        ("sea_cache", "SeaCacheSharedState", "resolve_gate", _told_gate),
        ("sea_cache", "SeaCacheRootHook", "prepare_decoder_stack", _with_virtual_tokens),
        ("mag_cache", "MagCacheBlockHook", "_perform_calibration_step", _unread),
    ):
        found = class_of_hooks(module, owner)
        if found is not None:
            patches.function(found, name, functools.partial(told, replay))
    patches.function(torch.Tensor, "data_ptr", _addresses)
    mag_cache = sys.modules.get("diffusers.hooks.mag_cache")
    if mag_cache is not None:  # it prints what it has calibrated, which is nothing here
        patches.set(mag_cache, "print", lambda *texts: None)


def _told_first_block(replay: _Replay, original: Callable[..., bool]) -> Callable[..., bool]:
    def should_compute(hook: Any, residual: torch.Tensor) -> bool:
        if replay.told is None:
            return original(hook, residual)
        with _NothingRead():  # for the operations that it executes
            original(hook, residual)
        if replay.told and hook.state_manager.get_state().tail_block_residuals is None:
            raise DiffprofError(f"{FIRST_BLOCK_CACHE} used what a call before this one had left in it")
        return not replay.told

    return should_compute


def _told_gate(replay: _Replay, original: Callable[..., bool]) -> Callable[..., bool]:
    def resolve_gate(shared: Any, state: Any, *args: Any) -> bool:
        if replay.told is None:
            return original(shared, state, *args)
        with _NothingRead():
            original(shared, state, *args)
        state.gate_should_compute = not replay.told
        return not replay.told

    return resolve_gate


def _with_virtual_tokens(replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    """What is in the cache came out of a layer and is virtual: tokens that are still real would not seem to fit."""

    def prepare(hook: Any, module: Any, *tokens: torch.Tensor) -> Any:
        return original(hook, module, *map(_virtual, tokens))

    return prepare


def _virtual(tensor: torch.Tensor) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():  # the pipeline did not make this tensor
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _addresses(original: Callable[[torch.Tensor], int]) -> Callable[[torch.Tensor], int]:
    """TextKVCache knows a text by its address. A virtual tensor has none, but it is one and no other."""
    return lambda tensor: tensor.untyped_storage()._cdata if tensor.is_meta else original(tensor)


def _unread(replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    def calibrate(*args: Any) -> Any:
        with _NothingRead():
            return original(*args)

    return calibrate


class _NothingRead(TorchFunctionMode):
    """Values that are only read in order to decide what is decided already are zero, and nothing is assumed."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (torch.Tensor.item, torch.Tensor.__float__):
            return 0.0
        return func(*args, **(kwargs or {}))
