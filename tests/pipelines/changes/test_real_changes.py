"""A loaded pipeline is changed with the libraries themselves, and then is what the dry run said it would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.loading.weights import load_pipeline
from tests.pipelines.loadable import saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES
from tests.small_pipelines.quantized import unpack_in_python

FIGURES = ("parameters", "buffers", "weight_bytes", "macs", "peak_live_bytes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("stable-diffusion"))


@pytest.mark.parametrize(
    "changes",
    [
        {"quantize": "quanto:int8"},
        {"quantize": {"unet": "quanto:int4"}, "lora": 4},
        {"layerwise": "fp8"},
        {"attention": "native"},
    ],
    ids=str,
)
def test_what_runs_is_what_was_counted(folder: Path, changes: dict[str, Any]) -> None:
    unpack_in_python()
    arguments = SMALL_PIPELINES["stable-diffusion"].arguments()
    counted = diffprof.profile(folder, dtype="float32", **changes, **arguments)
    loaded = load_pipeline(folder, dtype="float32", device="cpu", **changes)
    assert loaded.opened.changes == counted.request.changes
    live = diffprof.profile(loaded.pipeline, **arguments)
    for slot, component in counted.components.items():
        for figure in FIGURES:
            assert getattr(live.components[slot], figure) == getattr(component, figure), (slot, figure)
    loaded.pipeline.set_progress_bar_config(disable=True)
    assert loaded.pipeline(**arguments)[0] is not None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"quantize": {"unet": "gguf:Q8_0"}},
            "diffusers has no way to pack a loaded model as gguf:Q8_0; give the .gguf",
        ),
        ({"guidance_interval": (0.2, 0.8)}, "guidance_interval can be counted but not run here"),
        ({"attention": "flash"}, "attention cannot be computed by flash here"),
    ],
)
def test_what_cannot_run_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError) as refusal:
        load_pipeline(folder, dtype="float32", device="cpu", **changes)
    assert str(refusal.value).startswith(sentence)


def test_a_library_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match="quanto:int8 needs optimum-quanto to run; install it with `pip install"):
        load_pipeline(folder, dtype="float32", device="cpu", quantize="quanto:int8")
