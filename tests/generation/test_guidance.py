"""Guidance goes where the pipeline really takes it, and what a pipeline lacks is named."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.generation.call import configure_pipeline, plan_call
from diffprof.generation.guidance import Guidance, guidance_for
from diffprof.inference import generate_image
from diffprof.record.request import Request
from tests.small_pipelines import SMALL_PIPELINES


def request(**arguments: Any) -> Request:
    return Request("", arguments, seed=1)


def guidance_of(name: str, scale: float, negative_prompt: str | None = None) -> Guidance:
    pipeline = SMALL_PIPELINES[name].build()
    return guidance_for(pipeline, inspect.signature(type(pipeline).__call__).parameters, scale, negative_prompt)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("stable-diffusion", {"guidance_scale": 3.0}),
        ("wan-2.1", {"guidance_scale": 3.0}),
        ("flux", {"guidance_scale": 3.0}),
        ("qwen-image", {"true_cfg_scale": 3.0, "negative_prompt": ""}),
        ("hunyuan-video", {"guidance_scale": 3.0}),
        ("stable-cascade-combined", {"prior_guidance_scale": 3.0}),
    ],
)
def test_the_scale_goes_to_the_argument_that_the_pipeline_has(name: str, arguments: dict[str, Any]) -> None:
    assert guidance_of(name, 3.0).arguments == arguments


def test_a_scale_really_guides(tmp_path: Path) -> None:
    """Qwen calls its model once a step without guidance, and twice with."""
    small = SMALL_PIPELINES["qwen-image-unguided"]
    asked = {name: value for name, value in small.arguments().items() if name in ("prompt", "height", "width")}
    calls = []
    for scale in (1.0, 4.0):
        made = generate_image(
            pipe=small.build(), guidance_scale=scale, num_inference_steps=2, output_dir=tmp_path, **asked
        )
        assert made.profiling_data is not None
        calls.append(made.profiling_data["profile"].components["transformer"].calls)
    assert calls == [2, 4]


def test_a_negative_prompt_of_the_caller_is_kept() -> None:
    assert guidance_of("qwen-image", 3.0, "ugly").arguments == {"true_cfg_scale": 3.0}
    assert guidance_of("qwen-image", 1.0).arguments == {"true_cfg_scale": 1.0}


def test_a_model_that_takes_a_scale_as_input_gets_it_there() -> None:
    pipeline: Any = SMALL_PIPELINES["flux"].build()
    parameters = inspect.signature(type(pipeline).__call__).parameters
    pipeline.transformer.register_to_config(guidance_embeds=True)
    assert guidance_for(pipeline, parameters, 3.0, None).arguments == {"guidance_scale": 3.0}
    pipeline.transformer.register_to_config(guidance_embeds=False)
    assert guidance_for(pipeline, parameters, 3.0, None).arguments == {"true_cfg_scale": 3.0, "negative_prompt": ""}


def test_a_guider_stands_in_during_the_call_only() -> None:
    small = SMALL_PIPELINES["hunyuan-video-1.5"]
    pipeline: Any = small.build()
    own = pipeline.guider
    call = plan_call(pipeline, request(prompt="a cat", guidance_scale=2.5), {})
    assert "guidance_scale" not in call.arguments
    with configure_pipeline(pipeline, call):
        assert pipeline.guider.guidance_scale == 2.5
    assert pipeline.guider is own
    assert own.guidance_scale != 2.5


def test_a_pipeline_without_guidance_says_so() -> None:
    with pytest.raises(RequestError, match="DDPMPipeline has no guidance scale; leave it out"):
        guidance_of("ddpm", 3.0)


def test_a_scale_that_would_be_ignored_is_rejected() -> None:
    pipeline: Any = SMALL_PIPELINES["flux-control"].build()
    pipeline.transformer.register_to_config(guidance_embeds=False)
    parameters = inspect.signature(type(pipeline).__call__).parameters
    if hasattr(type(pipeline), "do_classifier_free_guidance"):
        pytest.skip("this diffusers guides it in another way")
    with pytest.raises(RequestError, match="FluxControlPipeline would ignore the guidance scale, which its model"):
        guidance_for(pipeline, parameters, 3.0, None)
