"""The saved profile that a user named is loaded, and a model's name is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.cli.saved_profile import load_named
from diffprof.errors import FileFormatError
from tests.sample_profiles import stable_diffusion


def test_the_folder_of_a_run_is_loaded(tmp_path: Path) -> None:
    stable_diffusion().save(tmp_path / "profiling_report.json")
    assert load_named(tmp_path) == stable_diffusion()


def test_the_name_of_a_model_is_explained() -> None:
    with pytest.raises(FileFormatError, match="sdxl is a model, not a saved profile; count it with"):
        load_named(Path("sdxl"))
