"""The folder of a ControlNet alone is counted with the model that it was made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof import catalogue
from diffprof.errors import RequestError
from diffprof.pipelines.controlnet_folders import BASES, base_of_controlnet, controlnet_class


def folder_of(config: dict[str, Any], folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_it_is_counted_with_the_model_that_it_was_made_for(tmp_path: Path) -> None:
    part = catalogue.find("sd-1.5-controlnet-canny").components["controlnet"]
    folder = folder_of({"_class_name": part.class_name, **part.config}, tmp_path / "canny")
    small = {"height": 64, "width": 64, "num_inference_steps": 1}
    alone = diffprof.profile(folder, **small)
    assert alone.components["controlnet"].parameters == part.parameters
    assert alone.components["unet"].parameters == catalogue.find("sd-1.5").components["unet"].parameters
    assert (alone.components["controlnet"].calls, alone.components["unet"].calls) == (1, 1)
    assert alone.request.changes.controlnet == (str(folder),)
    assert f"{folder} is a ControlNet: it is counted with sd-1.5" in alone.ledger.assumptions
    assert alone.request.model == str(folder)


def test_every_model_to_count_with_is_in_the_catalogue() -> None:
    assert all(catalogue.find(name) is not None for models in BASES.values() for name in models.values())


def test_one_for_an_unknown_model_says_what_to_do(tmp_path: Path) -> None:
    folder = folder_of({"_class_name": "ControlNetModel", "cross_attention_dim": 7}, tmp_path / "net")
    with pytest.raises(RequestError, match="is a ControlNetModel, not a pipeline; count the model it was trained for"):
        base_of_controlnet(folder)


def test_a_union_under_the_name_of_an_ordinary_one_is_known_by_its_configuration() -> None:
    assert controlnet_class({"_class_name": "ControlNetModel", "num_control_type": 6}) == "ControlNetUnionModel"
    assert controlnet_class({"_class_name": "ControlNetModel"}) == "ControlNetModel"


def test_another_component_alone_says_how_to_count_it(tmp_path: Path) -> None:
    folder = folder_of({"_class_name": "AutoencoderKL"}, tmp_path / "vae")
    assert base_of_controlnet(folder) is None
    with pytest.raises(RequestError, match=r"holds a single component, not a pipeline.*--component NAME"):
        diffprof.profile(folder)
