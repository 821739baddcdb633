"""The functions of ``import diffprof``: what their progress callbacks receive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.errors import RequestError
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


def test_profiles_files_and_models_are_compared_as_they_are_given(engine: Engine, tmp_path: Path) -> None:
    profile = diffprof.profile("sdxl", height=512)
    profile.save(tmp_path / "before.json")

    found = diffprof.compare(tmp_path / "before.json", profile, "sdxl")

    assert found.names == ("before", profile.request.model, "sdxl")
    assert found.profiles[0] == profile
    assert len(found.to_dict()["pairs"]) == 2
    assert "<html" in found.report(tmp_path / "page.html").read_text()


def test_a_comparison_calls_profiles_what_it_is_told_to(engine: Engine) -> None:
    profile = diffprof.profile("sdxl", height=512)
    assert diffprof.compare(profile, profile, names=["old", "new"]).names == ("old", "new")
    with pytest.raises(RequestError, match="1 names were given for 2 profiles; give one for each"):
        diffprof.compare(profile, profile, names=["old"])


def test_growth_is_read_off_the_law_in_the_short_names_too() -> None:
    scaling = diffprof.scale("sd-2.1-base", steps=30)
    assert next(point.macs for point in scaling.steps if point.steps == 30) == 26_234_368_094_208
    assert "how its cost grows" in str(scaling)
