"""Observe lookups in diffusers' caches and whether they hit, in a real run and in a dry run.

Lookups are defined so that the hit rate shows how much was skipped:

=======================================  =============================================================================
``FirstBlockCache``                      each call of the denoiser, at its first block: a hit skips all blocks after it
``MagCache``, ``SeaCache``               each call of the denoiser, at its first block: a hit skips all blocks
``TaylorSeer``                           each call of each module that it was put on: a hit predicts the output
``PyramidAttentionBroadcast``            each call of each attention that it was put on: a hit gives the last output
``FasterCache``                          each call of each attention that it was put on: a hit extrapolates the output
``FasterCache (unconditional branch)``   each call of the denoiser: a hit computes only the conditional half of it
``TextKVCache``                          each call of each block: a hit has the keys and values of this text already
=======================================  =============================================================================

A lookup in a cache that is not active yet, as in its first steps, is a miss.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._dynamo import eval_frame
from torch._dynamo.eval_frame import skip_code

from diffprof.pipelines.components import components_of, unwrap_compiled

OnResult = Callable[[bool], None]
"""Called at the end of a lookup with True for a hit."""
OnLookup = Callable[[str, Any, Any], OnResult | None]
"""Called at the start of a lookup with the cache, its hook and the module; returns None to ignore the result."""

READER = "new_forward"
"""The name of diffusers' replacement of ``forward``, which reads the observed attributes."""
FIRST_BLOCK_CACHE, SEA_CACHE = "FirstBlockCache", "SeaCache"

CACHES = {
    "FBCHeadBlockHook": FIRST_BLOCK_CACHE,
    "FBCBlockHook": FIRST_BLOCK_CACHE,
    "MagCacheHeadHook": "MagCache",
    "MagCacheBlockHook": "MagCache",
    "SeaCacheRootHook": SEA_CACHE,
    "SeaCacheLeaderBlockHook": SEA_CACHE,
    "SeaCacheBlockHook": SEA_CACHE,
    "SeaCachePostNormHook": SEA_CACHE,
    "TaylorSeerCacheHook": "TaylorSeer",
    "PyramidAttentionBroadcastHook": "PyramidAttentionBroadcast",
    "FasterCacheBlockHook": "FasterCache",
    "FasterCacheDenoiserHook": "FasterCache (unconditional branch)",
    "TextKVCacheTransformerHook": "TextKVCache",
    "TextKVCacheBlockHook": "TextKVCache",
}
"""The cache of each hook, by class name, because not every version of diffusers has all of them."""


def cache_of(hook: Any) -> str | None:
    """The name of the cache that a hook belongs to; None for other hooks."""
    kind = type(hook)
    return CACHES.get(kind.__name__) if kind.__module__.startswith("diffusers.hooks.") else None


def cache_hooks(pipeline: Any) -> Iterator[tuple[torch.nn.Module, str, Any]]:
    """All hooks of caches in a pipeline: the module, the name of the hook, and the hook."""
    for component in components_of(pipeline).values():
        for module in unwrap_compiled(component).modules():
            registry = vars(module).get("_diffusers_hook")
            for name, hook in list(registry.hooks.items()) if registry is not None else ():
                if cache_of(hook) is not None:
                    yield module, name, hook


def has_caches(pipeline: Any) -> bool:
    """Whether any of diffusers' caches is enabled on the pipeline."""
    return next(cache_hooks(pipeline), None) is not None


def hook_class(module: str, name: str) -> type | None:
    """A class of `diffusers.hooks`; None if the installed version does not have it."""
    try:
        found = getattr(importlib.import_module(f"diffusers.hooks.{module}"), name, None)
    except ModuleNotFoundError:
        return None
    return found if isinstance(found, type) else None


@dataclass(frozen=True)
class DecidingMethod:
    """A method of a hook that makes the decision. Even compiled code looks it up at each call."""

    module: str
    owner: str
    name: str
    is_hit: Callable[[Any], bool]
    """Whether the method's result means a hit."""

    def call(
        self, on_lookup: OnLookup, original: Callable[..., Any], hook: Any, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        module = args[0] if args and isinstance(args[0], torch.nn.Module) else _module_of(hook)
        on_result = on_lookup(CACHES[self.owner], hook, module)
        result = original(hook, *args, **kwargs)
        if on_result is not None:
            on_result(self.is_hit(result))
        return result


DECIDING_METHODS = (
    DecidingMethod(
        "first_block_cache", "FBCHeadBlockHook", "_should_compute_remaining_blocks", lambda computes: not computes
    ),
    DecidingMethod(
        "taylorseer_cache", "TaylorSeerCacheHook", "_measure_should_compute", lambda decision: not decision[0]
    ),
    DecidingMethod("sea_cache", "SeaCacheRootHook", "prepare_decoder_stack", lambda decision: not decision[2]),
)


def _module_of(hook: Any) -> Any:
    """The module of a hook, which is bound to the function that replaces the module's ``forward``."""
    forward = vars(hook.fn_ref)["forward"]
    return forward.args[0] if isinstance(forward, functools.partial) else None


class ObservedAttribute:
    """An attribute of diffusers' ``HookFunctionReference``, which is read when a module with a hook is called.

    Other hooks decide inside ``new_forward``, which was bound to the module when the hook was registered: replacing it
    in the class would have no effect on existing hooks. This attribute is looked up at each call.
    """

    on_lookup: OnLookup | None = None
    """The receiver of lookups, one for the process, because there is one such class."""

    def __init__(self, name: str, read: Callable[[Any, Any], Any]) -> None:
        self._name, self._read = name, read

    def __set__(self, reference: Any, value: Any) -> None:
        reference.__dict__[self._name] = value

    def __get__(self, reference: Any, owner: type | None = None) -> Any:
        if reference is None:
            return self
        value = reference.__dict__[self._name]
        # Compiled code outlives the measurement, so it must not contain the wrapper; and the guards of `torch.compile`
        # must read the original.
        if torch.compiler.is_compiling() or sys._getframe(1).f_code.co_name != READER:
            return value
        return self._read(reference, value)


def observed_attributes() -> dict[str, ObservedAttribute]:
    """The attributes to set on the class, by name."""
    return {
        "forward": ObservedAttribute("forward", _wrap_hook),
        "original_forward": ObservedAttribute("original_forward", _wrap_module),
    }


def _wrap_hook(reference: Any, forward: Any) -> Any:
    hook = getattr(forward.func, "__self__", None) if isinstance(forward, functools.partial) else None
    was_hit = DECIDED_WITHIN.get(type(hook).__name__)
    if was_hit is None:
        return forward
    if _active_compiler() is None:
        return functools.partial(_look_up, was_hit, reference, hook, forward)
    # Between two pieces of compiled code, the wrapper has to be compilable itself.
    if getattr(forward.func, "_torchdynamo_disable", False):
        return functools.partial(_look_up_uncompiled, was_hit, reference, hook, forward)
    return forward


def _wrap_module(reference: Any, original: Any) -> Any:
    lookup = _LOOKUPS.open[-1] if _LOOKUPS.open else None
    if lookup is None or lookup.reference is not reference:
        return original
    return functools.partial(_compute, lookup, original)


class _Lookup:
    """The current call of a hook."""

    def __init__(self, reference: Any, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.reference, self.hook = reference, hook
        self.rows = _rows(args, kwargs)
        self.computed_rows: int | None = None
        """None until the module itself is called."""
        self.texts = _texts(hook)


class _Lookups(threading.local):
    def __init__(self) -> None:
        self.open: list[_Lookup] = []


_LOOKUPS = _Lookups()


def _look_up(
    was_hit: Callable[[_Lookup], bool | None], reference: Any, hook: Any, forward: Any, /, *args: Any, **kwargs: Any
) -> Any:
    on_lookup = ObservedAttribute.on_lookup
    on_result = on_lookup(CACHES[type(hook).__name__], hook, forward.args[0]) if on_lookup is not None else None
    if on_result is None:
        return forward(*args, **kwargs)
    lookup = _Lookup(reference, hook, args, kwargs)
    _LOOKUPS.open.append(lookup)
    try:
        output = forward(*args, **kwargs)
    finally:
        _LOOKUPS.open.pop()
    hit = was_hit(lookup)
    if hit is not None:
        on_result(hit)
    return output


_active_compiler: Callable[[], Any] = getattr(eval_frame, "get_eval_frame_callback", lambda: None)
_look_up_uncompiled = torch.compiler.disable(_look_up)
for _function in (ObservedAttribute.__get__, _wrap_hook, _wrap_module):
    skip_code(_function.__code__)  # otherwise `torch.compile` compiles them, once for every module


def _compute(lookup: _Lookup, original: Any, /, *args: Any, **kwargs: Any) -> Any:
    lookup.computed_rows = _rows(args, kwargs)
    return original(*args, **kwargs)


def _rows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The sum of the first dimensions of all tensors, which is smaller if only half a batch is computed."""
    return sum(value.shape[0] for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor) and value.dim())


def _module_was_skipped(lookup: _Lookup) -> bool:
    return lookup.computed_rows is None


def _half_was_skipped(lookup: _Lookup) -> bool | None:
    if lookup.hook.is_guidance_distilled:  # there are no halves, and nothing is decided
        return None
    return lookup.computed_rows is not None and lookup.computed_rows < lookup.rows


def _text_was_cached(lookup: _Lookup) -> bool:
    return _texts(lookup.hook) == lookup.texts


def _texts(hook: Any) -> int:
    """The number of texts whose keys and values a block has cached."""
    states = hook.block_state_manager._state_cache.values() if hasattr(hook, "block_state_manager") else ()
    return sum(len(state.kv_cache) for state in states)


DECIDED_WITHIN: dict[str, Callable[[_Lookup], bool | None]] = {
    "PyramidAttentionBroadcastHook": _module_was_skipped,
    "FasterCacheBlockHook": _module_was_skipped,
    "MagCacheHeadHook": _module_was_skipped,
    "SeaCacheLeaderBlockHook": _module_was_skipped,
    "FasterCacheDenoiserHook": _half_was_skipped,
    "TextKVCacheBlockHook": _text_was_cached,
}
"""Hooks that decide inside their function, and how to see their decision afterwards."""
