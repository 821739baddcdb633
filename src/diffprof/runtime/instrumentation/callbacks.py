"""The user's own callbacks: timed when they run, and played back, not called again, when the call is counted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch

CALLBACKS = ("callback_on_step_end", "callback", "callback_on_step_begin", "prior_callback_on_step_end")
"""Call arguments of pipelines that take a function of the user."""

PLAIN = (bool, int, float, str, type(None))
_ABSENT = object()


class Callbacks:
    """Knows what each call of a callback changed: attributes of the pipeline, and the tensors that it gave back."""

    def __init__(self, pipeline: Any, section: Callable[[str], contextlib.AbstractContextManager[None]]) -> None:
        self._pipeline = pipeline
        self._section = section
        self._effects: dict[str, list[_Effect]] = {}

    def watched(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with the user's functions timed and their effects written down."""
        return {name: self._watching(name, value) for name, value in arguments.items()}

    def played_back(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with functions that have the same effects and call nothing of the user."""
        return {name: self._player(name, value) for name, value in arguments.items()}

    @property
    def signature(self) -> Any:
        """Equal for calls whose callbacks had the same effects."""
        return tuple((name, tuple(effect.signature for effect in made)) for name, made in self._effects.items())

    def _watching(self, name: str, value: Any) -> Any:
        if name not in CALLBACKS or not _is_function(value):
            return value

        def watched(*args: Any, **kwargs: Any) -> Any:
            before = dict(vars(self._pipeline))
            with self._section(name):
                given = value(*args, **kwargs)
            self._effects.setdefault(name, []).append(_Effect(before, vars(self._pipeline), given))
            return given

        return watched

    def _player(self, name: str, value: Any) -> Any:
        if name not in CALLBACKS or not _is_function(value):
            return value
        effects = iter(self._effects.get(name, ()))

        def played(*args: Any, **kwargs: Any) -> Any:
            effect = next(effects, None)
            return effect.play(self._pipeline) if effect is not None else {}

        return played


class _Effect:
    """What one call of a callback did."""

    def __init__(self, before: Mapping[str, Any], after: Mapping[str, Any], given: Any) -> None:
        self.changed = {
            name: value
            for name, value in after.items()
            if isinstance(value, PLAIN) and before.get(name, _ABSENT) is not value and before.get(name) != value
        }
        values = given if isinstance(given, Mapping) else {}
        self.tensors = {
            name: (tuple(value.shape), value.dtype) for name, value in values.items() if isinstance(value, torch.Tensor)
        }

    @property
    def signature(self) -> Any:
        return tuple(self.changed.items()), tuple(self.tensors.items())

    def play(self, pipeline: Any) -> dict[str, torch.Tensor]:
        for name, value in self.changed.items():
            setattr(pipeline, name, value)
        return {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in self.tensors.items()}


def _is_function(value: Any) -> bool:
    """Callbacks of diffusers itself are objects that the pipeline asks for more than a call; they do nothing else."""
    return callable(value) and not type(value).__module__.startswith("diffusers.")
