"""The functions of ``import diffprof``: what their progress callbacks receive."""

from __future__ import annotations

from typing import Any

import diffprof
from tests.cli.conftest import Engine, engine
from tests.small_pipelines import SMALL_PIPELINES

__all__ = ["engine"]

Message = tuple[str, int | None, int | None]


def test_the_progress_of_a_profile_is_a_message_and_how_much_is_done() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    messages: list[Message] = []
    diffprof.profile(small.build(), progress=lambda *now: messages.append(now), **small.arguments())
    assert ("counting unet", None, None) in messages


def test_the_progress_of_measured_calls_names_the_call_and_its_steps() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    messages: list[Message] = []
    options: dict[str, Any] = {"warmup": 1, "iterations": 1, "sample_hz": 0}
    diffprof.measure(small.build(), **options, progress=lambda *now: messages.append(now), **small.arguments())
    assert [now for now in messages if "count" not in now[0]] == [
        ("warm-up 1 of 1", 0, None), ("warm-up 1 of 1", 1, 2), ("warm-up 1 of 1", 2, 2),
        ("iteration 1 of 1", 0, None), ("iteration 1 of 1", 1, 2), ("iteration 1 of 1", 2, 2),
    ]  # fmt: skip


def test_a_model_by_name_is_counted_once_and_then_comes_from_the_cache(engine: Engine) -> None:
    first = diffprof.profile("sdxl", height=512)
    assert diffprof.profile("sdxl", height=512) == first
    assert len(engine.requests) == 1
    diffprof.profile("sdxl", height=512, use_cache=False)
    assert len(engine.requests) == 2
