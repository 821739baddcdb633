"""Folders of every kind of text encoder open without their small files, and cost the same for texts as long."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import diffprof
from tests.pipelines.folders import saved
from tests.small_pipelines import SMALL_PIPELINES

VOCABULARIES = ("tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "tokenizer.model")

FAMILIES = [
    "stable-diffusion-3",  # CLIP twice and T5
    "wan-2.1-image-to-video",  # UMT5, and CLIP for images
    "sana",  # Gemma
    "hunyuan-video",  # Llama
    "qwen-image",  # Qwen, with a template of the pipeline
    "flux2-klein-edit",  # Qwen, with its own template
    "kandinsky-5-image-to-video",  # a processor in the slot of the tokenizer
    "hunyuan-video-1.5",  # bytes, and a guider
    "kolors",  # ChatGLM
    "audioldm2",  # RoBERTa, and a feature extractor for sounds
    "cogview4",  # GLM
    "ace-step",  # a component whose class is named a tokenizer and is a model
]


def remove_vocabularies(folder: Path) -> None:
    for path in folder.glob("*/*"):
        if path.name in VOCABULARIES:
            path.unlink()


def remove_text_parts(folder: Path) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    for slot, value in index.items():
        if isinstance(value, list) and value[0] == "transformers" and str(value[1]).endswith(TEXT_PARTS):
            shutil.rmtree(folder / slot, ignore_errors=True)


TEXT_PARTS = ("Tokenizer", "TokenizerFast", "Processor", "ProcessorPil", "ProcessorFast", "FeatureExtractor")


def remove_guider(folder: Path) -> None:
    for path in folder.glob("*/guider_config.json"):
        path.unlink()


REMOVALS: list[Callable[[Path], None]] = [remove_vocabularies, remove_text_parts]


ALWAYS = ("stable-diffusion-3", "qwen-image", "sana")


@pytest.fixture(scope="module")
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, diffprof.Profile]:
    folder = saved(request.param, tmp_path_factory.mktemp("families") / "model")
    return request.param, folder, diffprof.profile(folder, **arguments_of(request.param))


def arguments_of(name: str) -> dict[str, Any]:
    return {**SMALL_PIPELINES[name].arguments(), "use_cache": False}


@pytest.mark.parametrize(
    ("whole", "remove"),
    [
        *(
            pytest.param(name, remove, marks=() if name in ALWAYS else pytest.mark.extensive)
            for name in FAMILIES
            for remove in REMOVALS
        ),
        ("hunyuan-video-1.5", remove_guider),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
    indirect=["whole"],
)
def test_a_folder_without_its_small_files_opens(
    whole: tuple[str, Path, diffprof.Profile], remove: Callable[[Path], None], tmp_path: Path
) -> None:
    name, folder, expected = whole
    partial = Path(shutil.copytree(folder, tmp_path / "model"))
    remove(partial)
    done = diffprof.profile(partial, **arguments_of(name))
    assert done.total.parameters == expected.total.parameters
    assert [call.component for call in done.calls] == [call.component for call in expected.calls]
    if lengths(done) == lengths(expected) and name not in READ_BY_MASK:
        assert done.total.macs == expected.total.macs


READ_BY_MASK = ("ace-step",)


def lengths(profile: diffprof.Profile) -> list[int]:
    return [text.length for text in profile.texts]
