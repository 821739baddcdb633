"""Saved profiles and models are compared by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffprof.comparison.sources import compare_sources
from diffprof.record.profile import Profile
from tests.profiles_made_by_hand import stable_diffusion


def test_a_saved_profile_is_read_and_a_model_is_counted(tmp_path: Path) -> None:
    saved = str(stable_diffusion(unet_calls=10).save(tmp_path / "ten.json"))
    counted: list[tuple[str, Mapping[str, Any]]] = []

    def count(model: str, changes: Mapping[str, Any]) -> Profile:
        counted.append((model, changes))
        return stable_diffusion()

    comparison = compare_sources([saved, "some-model"], count)
    assert comparison.names == ("ten", "some-model")
    assert comparison.profiles == (stable_diffusion(unet_calls=10), stable_diffusion())
    assert counted == [("some-model", {})]
    assert comparison.growth is None
    curves = compare_sources([saved, "some-model"], count, curves=True).growth
    assert curves is not None
    assert {model for model, _ in counted} == {"some-model"}
    assert len(curves.sizes[0].places) == 1 < len(curves.sizes[1].places)
