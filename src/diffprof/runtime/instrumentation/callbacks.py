"""Time the user's callbacks and record their effects, which are replayed when the call is counted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch

CALLBACKS = ("callback_on_step_end", "callback", "callback_on_step_begin", "prior_callback_on_step_end")
"""Call arguments that take the user's callbacks."""

PLAIN_TYPES = (bool, int, float, str, type(None))
_ABSENT = object()


class Callbacks:
    """Records the effects of each callback: changed attributes of the pipeline, and returned tensors."""

    def __init__(self, pipeline: Any, section: Callable[[str], contextlib.AbstractContextManager[None]]) -> None:
        self._pipeline = pipeline
        self._section = section
        self._effects: dict[str, list[_Effect]] = {}

    def wrap(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Wrap the callbacks in the arguments, to time them and record their effects."""
        return {
            name: self._wrap_callback(name, value) if _is_callback(name, value) else value
            for name, value in arguments.items()
        }

    def replay(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the callbacks in the arguments by functions that repeat the recorded effects."""
        return {
            name: self._replay_callback(name) if _is_callback(name, value) else value
            for name, value in arguments.items()
        }

    @property
    def signature(self) -> Any:
        """A signature that is equal for calls whose callbacks had the same effects."""
        return tuple((name, tuple(effect.signature for effect in effects)) for name, effects in self._effects.items())

    @property
    def have_effects(self) -> bool:
        """Whether any callback changed anything."""
        return any(effect.changed or effect.tensors for effects in self._effects.values() for effect in effects)

    def _wrap_callback(self, name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            before = dict(vars(self._pipeline))
            with self._section(name):
                output = callback(*args, **kwargs)
            self._effects.setdefault(name, []).append(_Effect(before, vars(self._pipeline), output))
            return output

        return wrapper

    def _replay_callback(self, name: str) -> Callable[..., Any]:
        effects = iter(self._effects.get(name, ()))

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            effect = next(effects, None)
            return effect.apply(self._pipeline) if effect is not None else {}

        return wrapper


class _Effect:
    """The effect of one callback call."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any], output: Any) -> None:
        self.changed = {
            name: value
            for name, value in after.items()
            if isinstance(value, PLAIN_TYPES) and before.get(name, _ABSENT) is not value and before.get(name) != value
        }
        values = output if isinstance(output, Mapping) else {}
        self.tensors = {
            name: (tuple(value.shape), value.dtype) for name, value in values.items() if isinstance(value, torch.Tensor)
        }

    @property
    def signature(self) -> Any:
        return tuple(self.changed.items()), tuple(self.tensors.items())

    def apply(self, pipeline: Any) -> dict[str, torch.Tensor]:
        for name, value in self.changed.items():
            setattr(pipeline, name, value)
        return {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in self.tensors.items()}


def _is_callback(name: str, value: Any) -> bool:
    """Whether it is a user's callback; those of diffusers have more methods and no other effects."""
    return name in CALLBACKS and callable(value) and not type(value).__module__.startswith("diffusers.")
