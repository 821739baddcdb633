"""An image, a mask or a video for a pipeline of texts is a call of the pipeline beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import diffusers
import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.pipelines.input_pipelines import with_pipeline_for
from diffprof.pipelines.loading.weights import plan_loading
from diffprof.pipelines.plans.blueprint import Blueprint
from diffprof.record.request import Request
from tests.pipelines.folders import saved
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize(
    ("pipeline", "arguments", "taken"),
    [
        ("StableDiffusionPipeline", {"image": 1}, "StableDiffusionImg2ImgPipeline"),
        ("StableDiffusionXLPipeline", {"image": 1, "mask_image": 1}, "StableDiffusionXLInpaintPipeline"),
        ("FluxPipeline", {"image": 1}, "FluxImg2ImgPipeline"),
        ("WanPipeline", {"video": 1}, "WanVideoToVideoPipeline"),
        ("StableDiffusionPipeline", {"prompt": "a cat", "image": None}, "StableDiffusionPipeline"),
        ("StableDiffusionControlNetPipeline", {"image": 1}, "StableDiffusionControlNetPipeline"),
        ("DiTPipeline", {"image": 1}, "DiTPipeline"),
        ("NoPipeline", {"image": 1}, "NoPipeline"),
    ],
)
def test_the_pipeline_of_the_same_family_takes_what_is_given(
    pipeline: str, arguments: dict[str, Any], taken: str
) -> None:
    plan = with_pipeline_for(Blueprint("m", "folder", pipeline, {}), arguments)
    assert plan.pipeline == taken
    assert bool(plan.assumptions) == (pipeline != taken)


def test_an_image_for_a_folder_of_a_text_pipeline_costs_what_the_live_pipeline_for_images_costs(tmp_path: Path) -> None:
    folder = saved("stable-diffusion", tmp_path)
    call = {"prompt": "a cat", "image": "64x32", "num_inference_steps": 2}
    profile = diffprof.profile(folder, **call)
    live = SMALL_PIPELINES["stable-diffusion"].build()
    images = diffprof.profile(diffusers.StableDiffusionImg2ImgPipeline.from_pipe(live), **call)
    assert profile.total.macs == images.total.macs
    sentence = "StableDiffusionImg2ImgPipeline takes the place of StableDiffusionPipeline, which takes no image"
    assert sentence in profile.ledger.assumptions
    with pytest.raises(RequestError, match="has no call argument 'height'"):
        diffprof.profile(folder, height=64, **call)
    loading = plan_loading(Request.create(folder, call, random_weights=True))
    assert type(loading.virtual.pipeline).__name__ == "StableDiffusionImg2ImgPipeline"
