"""Replay the decisions of caches from a real run in a dry run, or remove caches."""

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
from diffprof.pipelines.components import components_of, named_modules_of
from diffprof.pipelines.patching import Patches
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.cache_lookups import (
    DECIDING_METHODS,
    FIRST_BLOCK_CACHE,
    SEA_CACHE,
    ObservedAttribute,
    OnLookup,
    OnResult,
    cache_hooks,
    hook_class,
    observed_attributes,
)

Changes = Callable[[Any, Patches], None]

DECIDED_BY_VALUES = frozenset({FIRST_BLOCK_CACHE, SEA_CACHE})
"""Caches that compare tensors. All others decide by the step number, which a dry run knows, too."""


def replay_decisions(events: Sequence[CacheEvent]) -> Changes:
    """Changes for a dry run that make each cache decide as in the iteration with these events.

    A cache that decides by values gets its recorded decision. Other caches decide themselves, with a `DiffprofError` if
    they decide differently.
    """

    def change(pipeline: Any, patches: Patches) -> None:
        replay = _Replay(pipeline, events)
        for module, _, hook in cache_hooks(pipeline):
            if hook._is_stateful:
                hook.reset_state(module)  # an interrupted call may have left some state
        _override_decisions(replay, patches)
        _observe_lookups(replay, patches)

    return change


def remove_caches(pipeline: Any) -> None:
    """Remove all caches from a pipeline. For `prepare` of a dry run, which restores them."""
    for module, name, hook in cache_hooks(pipeline):
        registry, reference = vars(module)["_diffusers_hook"], hook.fn_ref
        hook.deinitalize_hook(module)  # SeaCache also replaces a method of the module
        reference.pre_forward, reference.post_forward = _unchanged_inputs, _unchanged_output
        if reference.original_forward is not None:
            reference.forward = reference.original_forward
        number = registry._hook_order.index(name)
        del registry.hooks[name], registry._hook_order[number], registry._fn_refs[number]


def _unchanged_inputs(module: Any, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def _unchanged_output(module: Any, output: Any) -> Any:
    return output


class _Replay:
    """The recorded decisions of each module, in order."""

    def __init__(self, pipeline: Any, events: Sequence[CacheEvent]) -> None:
        self._thread = threading.get_ident()
        self._places = {
            id(module): (slot, path)
            for slot, part in reversed(components_of(pipeline).items())
            for path, module in named_modules_of(part)
        }
        self._recorded: dict[tuple[str, str | None, str], deque[bool]] = {}
        for event in events:
            self._recorded.setdefault((event.cache, event.component, event.module), deque()).append(event.hit)
        self.decision: bool | None = None
        """Whether the current lookup has to be a hit; None if the cache may decide itself."""

    def begin_lookup(self, others: OnLookup | None, cache: str, hook: Any, module: Any) -> OnResult | None:
        if threading.get_ident() != self._thread:
            return others(cache, hook, module) if others is not None else None
        self.decision = None
        place = self._places.get(id(module))
        if place is None:  # belongs to another pipeline
            return None
        recorded = self._recorded.get((cache, *place))
        if recorded:
            self.decision = recorded.popleft()
            return functools.partial(self._check, cache, place, self.decision)
        if recorded is None and cache not in DECIDED_BY_VALUES:
            return None
        raise DiffprofError(f"the decision of {cache} at {_module_name(place)} in the real run is unknown")

    def _check(self, cache: str, place: tuple[str, str], recorded: bool, hit: bool) -> None:
        if hit != recorded:
            raise DiffprofError(
                f"{cache} at {_module_name(place)} {_outcome(recorded)} in the real run and {_outcome(hit)} in the dry "
                "run; the cache may have kept state of an earlier call"
            )


def _module_name(place: tuple[str, str]) -> str:
    return ".".join(place).rstrip(".")


def _outcome(hit: bool) -> str:
    return "had the result" if hit else "computed"


def _observe_lookups(replay: _Replay, patches: Patches) -> None:
    from diffusers.hooks.hooks import HookFunctionReference

    for name, attribute in observed_attributes().items():
        if name not in vars(HookFunctionReference):  # a monitor may already have set them
            patches.set(HookFunctionReference, name, attribute)
    on_lookup = functools.partial(replay.begin_lookup, ObservedAttribute.on_lookup)
    patches.set(ObservedAttribute, "on_lookup", on_lookup)
    for method in DECIDING_METHODS:
        owner = hook_class(method.module, method.owner)
        if owner is not None:
            patches.function(owner, method.name, functools.partial(_wrap_method, method.call, replay))


def _wrap_method(call: Callable[..., Any], replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(hook: Any, *args: Any, **kwargs: Any) -> Any:
        return call(functools.partial(replay.begin_lookup, None), original, hook, args, kwargs)

    return wrapper


def _override_decisions(replay: _Replay, patches: Patches) -> None:
    for module, owner, name, wrap in (
        ("first_block_cache", "FBCHeadBlockHook", "_should_compute_remaining_blocks", _decide_first_block),
        ("sea_cache", "SeaCacheSharedState", "resolve_gate", _decide_gate),
        ("sea_cache", "SeaCacheRootHook", "prepare_decoder_stack", _prepare_virtual_tokens),
        ("mag_cache", "MagCacheBlockHook", "_perform_calibration_step", _calibrate_without_reading),
    ):
        hook_type = hook_class(module, owner)
        if hook_type is not None:
            patches.function(hook_type, name, functools.partial(wrap, replay))
    patches.function(torch.Tensor, "data_ptr", _address_virtual_tensors)
    mag_cache = sys.modules.get("diffusers.hooks.mag_cache")
    if mag_cache is not None:  # it would print its calibration, which is empty here
        patches.set(mag_cache, "print", lambda *texts: None)


def _decide_first_block(replay: _Replay, original: Callable[..., bool]) -> Callable[..., bool]:
    def should_compute(hook: Any, residual: torch.Tensor) -> bool:
        if replay.decision is None:
            return original(hook, residual)
        with _ZeroReads():  # called only so that its operations are counted
            original(hook, residual)
        if replay.decision and hook.state_manager.get_state().tail_block_residuals is None:
            raise DiffprofError(f"{FIRST_BLOCK_CACHE} used state of an earlier call")
        return not replay.decision

    return should_compute


def _decide_gate(replay: _Replay, original: Callable[..., bool]) -> Callable[..., bool]:
    def resolve_gate(shared: Any, state: Any, *args: Any) -> bool:
        if replay.decision is None:
            return original(shared, state, *args)
        with _ZeroReads():
            original(shared, state, *args)
        state.gate_should_compute = not replay.decision
        return not replay.decision

    return resolve_gate


def _prepare_virtual_tokens(replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make tokens virtual, because cached tensors are outputs of a layer, which are virtual, and both must match."""

    def prepare(hook: Any, module: Any, *tokens: torch.Tensor) -> Any:
        return original(hook, module, *map(_virtual, tokens))

    return prepare


def _virtual(tensor: torch.Tensor) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():  # the pipeline did not make this tensor
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _address_virtual_tensors(original: Callable[[torch.Tensor], int]) -> Callable[[torch.Tensor], int]:
    """Let TextKVCache, which identifies texts by address, use the identity of the storage for virtual tensors."""
    return lambda tensor: tensor.untyped_storage()._cdata if tensor.is_meta else original(tensor)


def _calibrate_without_reading(replay: _Replay, original: Callable[..., Any]) -> Callable[..., Any]:
    def calibrate(*args: Any) -> Any:
        with _ZeroReads():
            return original(*args)

    return calibrate


class _ZeroReads(TorchFunctionMode):
    """Reads zeros for values that only serve a known decision, without recording an assumption."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (torch.Tensor.item, torch.Tensor.__float__):
            return 0.0
        return func(*args, **(kwargs or {}))
