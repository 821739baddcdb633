"""The folder of a ControlNet alone is counted with the model that it was made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof import catalogue
from diffprof.errors import RequestError
from diffprof.pipelines.components import role_of
from diffprof.pipelines.opening import open_virtual
from diffprof.pipelines.plans.controlnet_folders import BASES, base_of_controlnet, controlnet_class


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
    with pytest.raises(RequestError, match=r"holds a single AutoencoderKL, not a pipeline.*--component vae"):
        diffprof.profile(folder)


XS = {
    "_class_name": "ControlNetXSAdapter", "cross_attention_dim": 1024, "num_attention_heads": 1,
    "max_norm_num_groups": 4, "base_block_out_channels": [320, 640, 1280, 1280], "block_out_channels": [4, 8, 16, 16],
}  # fmt: skip
SPARSE = {"_class_name": "SparseControlNetModel", "cross_attention_dim": 768, "motion_num_attention_heads": 8}
SD35 = {
    "_class_name": "SD3ControlNetModel", "num_attention_heads": 38, "num_layers": 1, "caption_projection_dim": 2048,
    "joint_attention_dim": None, "use_pos_embed": False, "pos_embed_type": None, "pos_embed_max_size": 192,
    "extra_conditioning_channels": 0, "sample_size": 128,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "pipeline", "slot"),
    [
        (XS, "StableDiffusionControlNetXSPipeline", "unet"),
        (SPARSE, "AnimateDiffSparseControlNetPipeline", "unet"),
        (SD35, "StableDiffusion3ControlNetPipeline", "transformer"),
    ],
    ids=["inside of the UNet", "of some frames", "with the position table of its transformer"],
)
def test_one_of_a_kind_of_its_own_is_opened_in_its_own_pipeline(
    config: dict[str, Any], pipeline: str, slot: str, tmp_path: Path
) -> None:
    opened = open_virtual(folder_of(config, tmp_path / "net"), None, None).pipeline
    assert type(opened).__name__ == pipeline
    assert role_of(slot, getattr(opened, slot)) == "denoiser"
    assert type(opened.controlnet).__name__ == config["_class_name"]
    assert all(weight.is_meta for weight in opened.controlnet.parameters())


def test_one_for_a_model_that_has_no_pipeline_with_controlnets_is_one_sentence(tmp_path: Path) -> None:
    unet = {"cross_attention_dim": 2048, "encoder_hid_dim": 4096, "encoder_hid_dim_type": "text_proj"}
    folder = folder_of({"_class_name": "ControlNetModel", **unet}, tmp_path / "net")
    with pytest.raises(RequestError, match="diffusers has no pipeline that uses a ControlNet with KolorsPipeline"):
        open_virtual(folder, None, None)
