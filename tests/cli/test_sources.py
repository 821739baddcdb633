"""What the user named is opened: a saved profile as it is, a model with the options."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.cli.options.prediction import PredictionOptions
from diffprof.cli.sources import load_saved_profile, open_model
from diffprof.errors import FileFormatError, RequestError
from tests.sample_profiles import stable_diffusion


def test_the_folder_of_a_run_is_loaded(tmp_path: Path) -> None:
    stable_diffusion().save(tmp_path / "profiling_report.json")
    assert load_saved_profile(tmp_path) == stable_diffusion()


def test_the_name_of_a_model_is_explained() -> None:
    with pytest.raises(FileFormatError, match="sdxl is a model, not a saved profile; count it with"):
        load_saved_profile(Path("sdxl"))


def test_a_saved_profile_has_a_request_of_its_own(tmp_path: Path) -> None:
    file = str(stable_diffusion().save(tmp_path / "p.json"))
    assert open_model(file, PredictionOptions(), quiet=True).profile == stable_diffusion()
    with pytest.raises(RequestError, match="is a saved profile with its own request; leave out --height"):
        open_model(file, PredictionOptions(height="512"), quiet=True)
