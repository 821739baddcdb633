"""Saved profiles are found by name, with the image beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, FileProblem, RequestError
from diffprof.record.saved_profiles import image_of_profile, load_saved, saved_file
from tests.sample_profiles import stable_diffusion


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
    assert image_of_profile(str(file)) == generated / "sd_seed1.png"
    stable_diffusion().save(generated / "sd_seed2.profile.json")
    with pytest.raises(RequestError, match="has 2 profiles in it; name one of them"):
        saved_file(str(generated))


def test_a_file_that_is_not_a_profile_is_rejected_with_advice(tmp_path: Path) -> None:
    damaged = tmp_path / "p.json"
    damaged.write_text("{")
    with pytest.raises(FileFormatError, match="make it again with `diffprof profile"):
        load_saved(damaged)


def test_the_error_keeps_the_reason(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list.json").write_text("[]")
    reasons = {
        "missing.json": FileProblem.missing,
        "weights.bin": FileProblem.not_text,
        "list.json": FileProblem.other_format,
        ".": FileProblem.folder,
    }
    for name, reason in reasons.items():
        with pytest.raises(FileFormatError) as refusal:
            load_saved(tmp_path / name)
        assert refusal.value.reason is reason, name
