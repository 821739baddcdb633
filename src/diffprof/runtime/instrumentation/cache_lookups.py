"""When one of diffusers' caches is asked, and whether it had the result: the same for a real run and for a dry one.

What counts as being asked is chosen so that a hit rate says how much was skipped:

=======================================  =============================================================================
``FirstBlockCache``                      each call of the denoiser, at its first block: a hit skips all blocks after it
``MagCache``, ``SeaCache``               each call of the denoiser, at its first block: a hit skips all blocks
``TaylorSeer``                           each call of each module that it was put on: a hit predicts the output
``PyramidAttentionBroadcast``            each call of each attention that it was put on: a hit gives the last output
``FasterCache``                          each call of each attention that it was put on: a hit extrapolates the output
``FasterCache (unconditional branch)``   each call of the denoiser: a hit computes only the conditional half of it
``TextKVCache``                          each call of each block: a hit has the keys and values of this text already
=======================================  =============================================================================

A cache that may not answer yet, such as in its first steps, is asked all the same, and misses.
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

Answer = Callable[[bool], None]
"""Is told whether it was a hit."""
Asked = Callable[[str, Any, Any], Answer | None]
"""Is told the cache that is asked, its hook and the module; gives None where it does not care for the answer."""

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
"""Hooks of diffusers by the name of their class, so that a version without some of them is as good as any."""


def cache_of(hook: Any) -> str | None:
    """Name of the cache that a hook belongs to; None for hooks that are no caches."""
    kind = type(hook)
    return CACHES.get(kind.__name__) if kind.__module__.startswith("diffusers.hooks.") else None


def cache_hooks(pipeline: Any) -> Iterator[tuple[torch.nn.Module, str, Any]]:
    """Every hook of a cache in a pipeline: its module, its name there, and itself."""
    for component in components_of(pipeline).values():
        for module in unwrap_compiled(component).modules():
            registry = vars(module).get("_diffusers_hook")
            for name, hook in list(registry.hooks.items()) if registry is not None else ():
                if cache_of(hook) is not None:
                    yield module, name, hook


def class_of_hooks(module: str, name: str) -> type | None:
    """A class of `diffusers.hooks`; None where the installed version has no such thing."""
    try:
        found = getattr(importlib.import_module(f"diffusers.hooks.{module}"), name, None)
    except ModuleNotFoundError:
        return None
    return found if isinstance(found, type) else None


@dataclass(frozen=True)
class DecidingMethod:
    """A method of a hook that decides. It is looked up at each call, also by compiled code, which cannot contain it."""

    module: str
    owner: str
    name: str
    hit: Callable[[Any], bool]
    """Of what the method gives back."""

    def call(self, asked: Asked, original: Callable[..., Any], hook: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        module = args[0] if args and isinstance(args[0], torch.nn.Module) else _module_of(hook)
        answer = asked(CACHES[self.owner], hook, module)
        result = original(hook, *args, **kwargs)
        if answer is not None:
            answer(self.hit(result))
        return result


DECIDING_METHODS = (
    DecidingMethod(
        "first_block_cache", "FBCHeadBlockHook", "_should_compute_remaining_blocks", lambda computes: not computes
    ),
    DecidingMethod("taylorseer_cache", "TaylorSeerCacheHook", "_measure_should_compute", lambda given: not given[0]),
    DecidingMethod("sea_cache", "SeaCacheRootHook", "prepare_decoder_stack", lambda given: not given[2]),
)


def _module_of(hook: Any) -> Any:
    """The module that a hook is on: it is bound into the function that stands in for the module's own."""
    forward = vars(hook.fn_ref)["forward"]
    return forward.args[0] if isinstance(forward, functools.partial) else None


class Observed:
    """An attribute of diffusers' ``HookFunctionReference``, which is read when a module that has a hook is called.

    The other hooks decide in the midst of ``new_forward``. That was bound to the module when the hook was registered:
    replaced in the class, it would be missed by every hook that is there already. This attribute is looked up.
    """

    asked: Asked | None = None
    """Who wants to know: one for the process, as there is one such class."""

    def __init__(self, name: str, read: Callable[[Any, Any], Any]) -> None:
        self._name, self._read = name, read

    def __set__(self, reference: Any, value: Any) -> None:
        reference.__dict__[self._name] = value

    def __get__(self, reference: Any, owner: type | None = None) -> Any:
        if reference is None:
            return self
        value = reference.__dict__[self._name]
        # What is compiled lasts and must not contain those who looked on; and what `torch.compile` reads by itself, in
        # order to tell whether its code still fits, must be what it was.
        if torch.compiler.is_compiling() or sys._getframe(1).f_code.co_name != READER:
            return value
        return self._read(reference, value)


READER = "new_forward"
"""Name of the functions that read these attributes: those that diffusers puts in the place of ``forward``."""


def observed_attributes() -> dict[str, Observed]:
    """What to put into the class, by name."""
    return {
        "forward": Observed("forward", _about_to_call_the_hook),
        "original_forward": Observed("original_forward", _about_to_call_the_module),
    }


def _about_to_call_the_hook(reference: Any, forward: Any) -> Any:
    hook = getattr(forward.func, "__self__", None) if isinstance(forward, functools.partial) else None
    was_hit = DECIDED_WITHIN.get(type(hook).__name__)
    if was_hit is None:
        return forward
    if _compiler_here() is None:
        return functools.partial(_ask, was_hit, reference, hook, forward)
    # Between two pieces of compiled code: what would be compiled as well must not be kept from it by being looked at.
    if getattr(forward.func, "_torchdynamo_disable", False):
        return functools.partial(_ask_uncompiled, was_hit, reference, hook, forward)
    return forward


def _about_to_call_the_module(reference: Any, original: Any) -> Any:
    ask = _ASKS.open[-1] if _ASKS.open else None
    return original if ask is None or ask.reference is not reference else functools.partial(_compute, ask, original)


class _Ask:
    """One call of a hook while it is under way."""

    def __init__(self, reference: Any, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.reference, self.hook = reference, hook
        self.rows = _rows(args, kwargs)
        self.computed_rows: int | None = None
        """None as long as the module itself was not called."""
        self.texts = _texts(hook)


class _Asks(threading.local):
    def __init__(self) -> None:
        self.open: list[_Ask] = []


_ASKS = _Asks()


def _ask(
    was_hit: Callable[[_Ask], bool | None], reference: Any, hook: Any, forward: Any, /, *args: Any, **kwargs: Any
) -> Any:
    asked = Observed.asked
    answer = asked(CACHES[type(hook).__name__], hook, forward.args[0]) if asked is not None else None
    if answer is None:
        return forward(*args, **kwargs)
    ask = _Ask(reference, hook, args, kwargs)
    _ASKS.open.append(ask)
    try:
        output = forward(*args, **kwargs)
    finally:
        _ASKS.open.pop()
    hit = was_hit(ask)
    if hit is not None:
        answer(hit)
    return output


_compiler_here: Callable[[], Any] = getattr(eval_frame, "get_eval_frame_callback", lambda: None)
_ask_uncompiled = torch.compiler.disable(_ask)
for _function in (Observed.__get__, _about_to_call_the_hook, _about_to_call_the_module):
    skip_code(_function.__code__)  # else `torch.compile` compiles them, once for every module


def _compute(ask: _Ask, original: Any, /, *args: Any, **kwargs: Any) -> Any:
    ask.computed_rows = _rows(args, kwargs)
    return original(*args, **kwargs)


def _rows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Of all tensors together, along their first dimension: fewer when only half a batch is computed."""
    return sum(value.shape[0] for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor) and value.dim())


def _module_was_skipped(ask: _Ask) -> bool:
    return ask.computed_rows is None


def _half_was_skipped(ask: _Ask) -> bool | None:
    if ask.hook.is_guidance_distilled:  # there are no halves, and nothing is decided
        return None
    return ask.computed_rows is not None and ask.computed_rows < ask.rows


def _text_was_known(ask: _Ask) -> bool:
    return _texts(ask.hook) == ask.texts


def _texts(hook: Any) -> int:
    """How many texts a block has keys and values of."""
    states = hook.block_state_manager._state_cache.values() if hasattr(hook, "block_state_manager") else ()
    return sum(len(state.kv_cache) for state in states)


DECIDED_WITHIN: dict[str, Callable[[_Ask], bool | None]] = {
    "PyramidAttentionBroadcastHook": _module_was_skipped,
    "FasterCacheBlockHook": _module_was_skipped,
    "MagCacheHeadHook": _module_was_skipped,
    "SeaCacheLeaderBlockHook": _module_was_skipped,
    "FasterCacheDenoiserHook": _half_was_skipped,
    "TextKVCacheBlockHook": _text_was_known,
}
"""Hooks that decide in the midst of their function, and how it shows afterwards what they decided."""
