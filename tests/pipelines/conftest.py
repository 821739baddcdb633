"""A folder of a small Stable Diffusion to open, and the command line to open it with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import run
from tests.pipelines.folders import saved
from tests.pipelines.loadable import saved_with_weights

__all__ = ["run"]


@pytest.fixture(scope="session")
def saved_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("stable-diffusion", tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def model(saved_once: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved_once, tmp_path / "model"))


@pytest.fixture(scope="session")
def saved_with_weights_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("weights") / "model")


@pytest.fixture
def model_with_weights(saved_with_weights_once: Path, tmp_path: Path) -> Path:
    """A copy with all its weights that a test may damage."""
    return Path(shutil.copytree(saved_with_weights_once, tmp_path / "model"))
