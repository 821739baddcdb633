"""The folder of a T2I-Adapter alone is counted with the Stable Diffusion that it was made for."""

from __future__ import annotations

import json
from pathlib import Path

import diffprof
from diffprof import catalogue
from diffprof.pipelines.plans.adapter_folders import from_adapter_folder

SMALL = {"height": 64, "width": 64, "num_inference_steps": 1}


def folder_of(folder: Path, **config: object) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_it_is_counted_with_stable_diffusion(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "canny", _class_name="T2IAdapter", adapter_type="full_adapter", in_channels=1)
    done = diffprof.profile(folder, **SMALL)
    assert done.request.pipeline == "StableDiffusionAdapterPipeline"
    assert (done.components["adapter"].calls, done.components["unet"].calls) == (1, 1)
    assert done.components["unet"].parameters == catalogue.find("sd-1.5").components["unet"].parameters
    assert f"{folder} is a T2IAdapter and no pipeline: it is counted with sd-1.5" in done.ledger.assumptions


def test_one_for_the_larger_model_is_counted_with_that(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "xl", _class_name="T2IAdapter", adapter_type="full_adapter_xl")
    plan = from_adapter_folder(folder, "xl")
    assert plan is not None
    assert plan.pipeline == "StableDiffusionXLAdapterPipeline"
    assert plan.parts["adapter"].config["adapter_type"] == "full_adapter_xl"
    assert plan.parts["unet"].parameters == catalogue.find("sdxl").components["unet"].parameters


def test_any_other_folder_is_none(tmp_path: Path) -> None:
    assert from_adapter_folder(folder_of(tmp_path / "vae", _class_name="AutoencoderKL"), "vae") is None
    assert from_adapter_folder(tmp_path, "nothing") is None


def test_a_motion_adapter_is_counted_with_the_pipeline_for_its_shape(tmp_path: Path) -> None:
    xl = folder_of(tmp_path / "xl", _class_name="MotionAdapter", block_out_channels=[320, 640, 1280])
    with_image = folder_of(tmp_path / "pia", _class_name="MotionAdapter", conv_in_channels=9)
    plain = folder_of(tmp_path / "plain", _class_name="MotionAdapter", block_out_channels=[320, 640, 1280, 1280])
    plans = [from_adapter_folder(folder, folder.name) for folder in (xl, with_image, plain)]
    pipelines = [plan.pipeline for plan in plans if plan is not None]
    assert pipelines == ["AnimateDiffSDXLPipeline", "PIAPipeline", "AnimateDiffPipeline"]
    assert all(plan is not None and plan.parts["motion_adapter"].class_name == "MotionAdapter" for plan in plans)
