"""Profiles by name: saved ones are read, models are counted."""

from __future__ import annotations

from pathlib import Path

from diffprof.counting.sources import open_profile
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def refuse(model: str) -> Profile:
    raise AssertionError(f"{model} was counted")


def test_a_saved_profile_is_read_and_a_model_counted(tmp_path: Path) -> None:
    profile = stable_diffusion()
    file = profile.save(tmp_path / "p.json")
    assert open_profile(str(file), refuse) == profile
    assert open_profile("sdxl", lambda model: profile) is profile
