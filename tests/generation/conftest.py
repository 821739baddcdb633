"""A small model or two with their weights, and a quick picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from diffprof.inference import Generated, generate_image
from diffprof.model_manager import ModelManager
from tests.pipelines.loadable import saved_with_weights


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("inference") / "small-sd")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion-3", tmp_path_factory.mktemp("inference") / "small-sd3")


@pytest.fixture(scope="module")
def manager() -> Iterator[ModelManager]:
    made = ModelManager(device="cpu")
    yield made
    made.unload_all()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "pictures"


@pytest.fixture
def make(model: Path, out: Path, manager: ModelManager) -> Callable[..., Generated]:
    """A quick picture by a small Stable Diffusion."""

    def generate(**changes: Any) -> Generated:
        usual = {"prompt": "a cat", "num_inference_steps": 2, "seed": 5, "output_dir": out, "manager": manager}
        return generate_image(**{"model_id": model, **usual, **changes})

    return generate
