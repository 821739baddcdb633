"""The user's callbacks: timed and recorded in the real run, replayed without being called in the dry run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

from diffprof.runtime.instrumentation.callbacks import Callbacks


def stop_guidance(pipe: Any, step: int, timestep: Any, values: dict[str, Any]) -> dict[str, Any]:
    pipe._guidance_scale = 0.0
    return {"prompt_embeds": values["prompt_embeds"][:1], "note": "not a tensor"}


def test_effects_are_recorded_and_replayed_on_another_pipeline() -> None:
    timed: list[str] = []

    @contextlib.contextmanager
    def section(name: str) -> Iterator[None]:
        timed.append(name)
        yield

    pipeline = SimpleNamespace(_guidance_scale=7.5, _interrupt=False)
    callbacks = Callbacks(pipeline, section)
    arguments = {"prompt": "a cat", "callback_on_step_end": stop_guidance}
    wrapped = callbacks.wrap(arguments)
    assert wrapped["prompt"] == "a cat" and not callbacks.have_effects
    wrapped["callback_on_step_end"](pipeline, 0, 999, {"prompt_embeds": torch.ones(2, 4)})
    assert timed == ["callback_on_step_end"] and callbacks.have_effects
    # WHEN the call is replayed THEN the same happens, with zeros, and once
    pipeline._guidance_scale = 7.5
    replay = callbacks.replay(arguments)["callback_on_step_end"]
    output = replay(pipeline, 0, 999, {})
    assert pipeline._guidance_scale == 0.0
    assert {name: tuple(tensor.shape) for name, tensor in output.items()} == {"prompt_embeds": (1, 4)}
    assert replay(pipeline, 1, 998, {}) == {}


def test_calls_with_the_same_effects_have_the_same_signature() -> None:
    def run(scale: float) -> Callbacks:
        pipeline = SimpleNamespace(_guidance_scale=7.5)
        callbacks = Callbacks(pipeline, lambda name: contextlib.nullcontext())

        def change(pipe: Any) -> dict[str, Any]:
            pipe._guidance_scale = scale
            return {}

        callbacks.wrap({"callback": change})["callback"](pipeline)
        return callbacks

    assert run(1.0).signature == run(1.0).signature != run(2.0).signature
    assert not run(7.5).have_effects


def test_arguments_that_are_not_user_callbacks_are_left_alone() -> None:
    callbacks = Callbacks(SimpleNamespace(), lambda name: contextlib.nullcontext())
    arguments = {"callback_on_step_end": None, "generator": stop_guidance}
    assert callbacks.wrap(arguments) == callbacks.replay(arguments) == arguments
