"""Modular pipelines: as an object and from a folder, equal to a real run to the integer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import diffusers
import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.components import components_of
from tests.counting.real_run import real_run
from tests.pipelines.folders import edit, saved
from tests.small_pipelines import SMALL_PIPELINES

CALL: dict[str, Any] = {"prompt": "a cat", "num_inference_steps": 2, "height": 32, "width": 32}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    """A modular pipeline of the components of a small one."""
    modular = diffusers.StableDiffusionXLAutoBlocks().init_pipeline()
    parts = SMALL_PIPELINES["stable-diffusion-xl"].components()
    modular.register_components(**{slot: part for slot, part in parts.items() if slot in modular._component_specs})
    modular.set_progress_bar_config(disable=True)
    return modular


def costs(profile: diffprof.Profile) -> list[tuple[str, str, int]]:
    return [(call.component, call.method, call.macs) for call in profile.calls if call.macs]


def test_every_call_costs_what_it_costs_in_a_real_run(pipeline: Any) -> None:
    profile = diffprof.profile(pipeline, **CALL)
    real = real_run(pipeline, components_of(pipeline), {"forward", "encode", "decode"}, CALL)
    assert costs(profile) == real.calls
    assert profile.calls[-1].macs == real.outside
    assert profile.steps.count == 2
    assert profile.components["unet"].calls == 4, "its guider makes two calls in a step"
    assert profile.request.pipeline == "StableDiffusionXLModularPipeline"


def modular_folder(folder: Path) -> Path:
    """The folder of a small pipeline with the index that `ModularPipeline.save_pretrained` writes."""
    saved("stable-diffusion-xl", folder)
    index = json.loads((folder / "model_index.json").read_text(encoding="utf-8"))
    entries = {
        slot: [*value, {"type_hint": value, "pretrained_model_name_or_path": "me/model", "subfolder": slot}]
        for slot, value in index.items()
        if isinstance(value, list) and value[0] is not None
    }
    modular = {"_class_name": "StableDiffusionXLModularPipeline", "_blocks_class_name": "StableDiffusionXLAutoBlocks"}
    (folder / "modular_model_index.json").write_text(json.dumps({**modular, **entries}))
    (folder / "model_index.json").unlink()
    return folder


def test_a_folder_costs_what_the_object_costs(pipeline: Any, tmp_path: Path) -> None:
    profile = diffprof.profile(modular_folder(tmp_path), **CALL)
    assert costs(profile) == costs(diffprof.profile(pipeline, **CALL))
    assert profile.total.parameters == diffprof.profile(pipeline, **CALL).total.parameters
    assert profile.request.source == "folder"


def test_entries_of_three_in_the_usual_index_are_a_modular_pipeline(tmp_path: Path) -> None:
    folder = modular_folder(tmp_path)
    before = diffprof.profile(folder, **CALL).total.macs
    (folder / "modular_model_index.json").rename(folder / "model_index.json")
    edit(folder / "model_index.json", lambda index: index["unet"].__setitem__(slice(0, 2), [None, None]))
    assert diffprof.profile(folder, **CALL).total.macs == before


def test_blocks_of_another_origin_are_not_run(tmp_path: Path) -> None:
    folder = modular_folder(tmp_path)
    edit(folder / "modular_model_index.json", lambda index: index.update(_blocks_class_name="MyBlocks"))
    profile = diffprof.profile(folder, **CALL)
    assert "MyBlocks are not blocks of diffusers: StableDiffusionXLAutoBlocks is assumed" in profile.ledger.assumptions


def test_a_component_that_is_elsewhere_is_named_with_its_place(tmp_path: Path) -> None:
    folder = modular_folder(tmp_path)
    edit(folder / "modular_model_index.json", lambda index: index["unet"][2].update(subfolder="elsewhere"))
    with pytest.raises(RequestError, match=r"has no elsewhere, the configuration of unet .* fetch it from me/model"):
        diffprof.profile(folder)


def test_blocks_take_their_components_from_a_model(pipeline: Any, tmp_path: Path) -> None:
    blocks = diffusers.StableDiffusionXLAutoBlocks()
    profile = diffprof.profile(blocks, config=str(saved("stable-diffusion-xl", tmp_path)), **CALL)
    assert costs(profile) == costs(diffprof.profile(pipeline, **CALL))
    with pytest.raises(RequestError, match="StableDiffusionXLAutoBlocks has no components yet; name the model"):
        diffprof.profile(blocks, **CALL)
