"""Profiles by name: saved ones are read, models are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.counting.sources import distinct_labels, image_beside, load_saved, open_profile, saved_file
from diffprof.errors import FileFormatError, RequestError
from diffprof.record.profile import Profile
from tests.profiles_made_by_hand import stable_diffusion


def refuse(model: str) -> Profile:
    raise AssertionError(f"{model} was counted")


def test_a_saved_profile_is_read_and_a_model_counted(tmp_path: Path) -> None:
    profile = stable_diffusion()
    file = profile.save(tmp_path / "p.json")
    assert open_profile(str(file), refuse) == profile
    assert open_profile("sdxl", lambda model: profile) is profile


def test_the_folder_of_a_run_and_that_of_an_image_stand_for_their_profile(tmp_path: Path) -> None:
    run, generated = tmp_path / "run", tmp_path / "generated"
    run.mkdir()
    generated.mkdir()
    assert saved_file(str(run)) is None
    file = stable_diffusion().save(run / "profiling_report.json")
    assert saved_file(str(run)) == file
    file = stable_diffusion().save(generated / "sd_seed1.profile.json")
    (generated / "sd_seed1.png").write_bytes(b"")
    assert saved_file(str(generated)) == file
    assert image_beside(str(file)) == generated / "sd_seed1.png"
    stable_diffusion().save(generated / "sd_seed2.profile.json")
    with pytest.raises(RequestError, match="has 2 profiles in it; name one of them"):
        saved_file(str(generated))


def test_labels_take_as_many_folders_as_tell_them_apart() -> None:
    assert distinct_labels(["a/p.json", "b/p.json.gz", "sdxl"]) == ["a/p", "b/p", "sdxl"]
    assert distinct_labels(["p.json", "q.profile.json"]) == ["p", "q"]
    assert distinct_labels(["sdxl", "sdxl"]) == ["sdxl (1)", "sdxl (2)"]


def test_a_file_that_is_no_profile_is_refused_with_advice(tmp_path: Path) -> None:
    damaged = tmp_path / "p.json"
    damaged.write_text("{")
    with pytest.raises(FileFormatError, match="make it again with `diffprof profile"):
        load_saved(damaged)
    with pytest.raises(FileFormatError, match="it is a model's name: count it with `diffprof profile sdxl`"):
        load_saved(Path("sdxl"))
