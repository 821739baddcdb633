"""The folder of a denoiser alone is counted with the rest of the model that has one like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.catalogue import find
from diffprof.errors import RequestError
from diffprof.pipelines.plans.blueprint import from_entry
from diffprof.pipelines.plans.denoiser_folders import from_denoiser_folder
from diffprof.pipelines.plans.source import blueprint_of


def folder_of(model: str, slot: str, folder: Path, **changes: object) -> Path:
    entry = find(model)
    assert entry is not None
    part = entry.components[slot]
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"_class_name": part.class_name, **part.config, **changes}))
    return folder


@pytest.mark.parametrize(
    ("model", "slot"), [("sd-1.5", "unet"), ("flux.1-dev", "transformer"), ("animatediff-v1-5-2", "motion_adapter")]
)
def test_the_rest_is_that_of_the_model_it_belongs_to(model: str, slot: str, tmp_path: Path) -> None:
    folder = folder_of(model, slot, tmp_path / "alone")
    plan = blueprint_of(folder)
    entry = find(model)
    assert entry is not None
    assert plan.pipeline == entry.pipeline
    assert plan.name == str(folder)
    assert plan.parts[slot].folder == folder
    assert plan.assumptions[0].endswith("it is counted with the other components of " + model)


def test_it_may_lie_in_a_folder_of_its_slot(tmp_path: Path) -> None:
    folder_of("flux.1-dev", "transformer", tmp_path / "transformer")
    assert blueprint_of(tmp_path).pipeline == "FluxPipeline"


def test_its_own_configuration_is_counted(tmp_path: Path) -> None:
    folder = folder_of("flux.1-dev", "transformer", tmp_path / "alone", num_layers=8)
    found = from_denoiser_folder(folder, "lite")
    assert found is not None
    assert found.parts["transformer"].config["num_layers"] == 8


def test_inside_of_a_pipelines_folder_it_is_counted_in_that_pipeline(tmp_path: Path) -> None:
    folder = folder_of("flux.1-dev", "transformer", tmp_path / "transformer")
    entry = find("flux.1-dev")
    assert entry is not None
    parts = from_entry(entry).parts.values()
    index = {"_class_name": "FluxImg2ImgPipeline", **{part.slot: [part.library, part.class_name] for part in parts}}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    plan = blueprint_of(folder)
    assert plan.pipeline == "FluxImg2ImgPipeline"
    assert plan.assumptions == (f"{folder} is a component: it is counted in the pipeline around it",)


def test_one_that_is_like_no_known_model_is_not_guessed(tmp_path: Path) -> None:
    changes = {"block_out_channels": [32, 64], "cross_attention_dim": 32, "sample_size": 8, "layers_per_block": 1}
    folder = folder_of("sd-1.5", "unet", tmp_path / "alone", **changes)
    with pytest.raises(RequestError, match=r"holds a single .*, not a pipeline"):
        blueprint_of(folder)
