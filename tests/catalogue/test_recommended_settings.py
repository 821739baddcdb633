"""What a request does not say is what is recommended for its model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.record.request import Request


def completed(model: str, /, pipeline_defaults: bool = False, **arguments: object) -> Request:
    return add_recommended(Request.create(model, arguments, pipeline_defaults=pipeline_defaults))


def test_recommended_settings_fill_a_request_and_are_named() -> None:
    request = completed("flux.1-schnell")
    assert request.arguments == {"num_inference_steps": 4, "guidance_scale": 0.0, "max_sequence_length": 256}
    assert request.recommended == ("num_inference_steps", "guidance_scale", "max_sequence_length")
    assert add_recommended(request) == request


def test_what_was_given_stays() -> None:
    request = completed("black-forest-labs/FLUX.1-schnell", num_inference_steps=2, height=512)
    assert request.arguments["num_inference_steps"] == 2
    assert request.recommended == ("guidance_scale", "max_sequence_length")


def test_the_pipelines_own_defaults_can_be_requested() -> None:
    assert completed("flux.1-schnell", pipeline_defaults=True).arguments == {}


def test_the_model_on_board_has_recommended_settings_too() -> None:
    assert completed("shapes").arguments == {"num_inference_steps": 20, "guidance_scale": 4.0}


@pytest.mark.parametrize(
    ("model", "given", "left_out"),
    [
        ("flux.1-schnell", {"sigmas": [1.0, 0.5]}, "num_inference_steps"),
        ("wan2.2-t2v-a14b", {"guidance_scale": 1.0}, "guidance_scale_2"),
        ("wan2.2-t2v-a14b", {"latents": [0.0]}, "height"),
        ("qwen-image", {"prompt_embeds": [0.0]}, "negative_prompt"),
    ],
)
def test_nothing_is_recommended_for_what_another_argument_decides(
    model: str, given: dict[str, object], left_out: str
) -> None:
    assert left_out in completed(model).arguments
    assert left_out not in completed(model, **given).arguments


@pytest.mark.parametrize(("pipeline", "steps"), [("FluxPipeline", 4), ("StableDiffusionPipeline", None)])
def test_a_folder_named_after_a_model_has_its_settings_if_it_is_that_pipeline(
    pipeline: str, steps: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "flux.1-schnell"
    folder.mkdir()
    (folder / "model_index.json").write_text(json.dumps({"_class_name": pipeline}))
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(tmp_path))
    assert completed("flux.1-schnell").arguments.get("num_inference_steps") == steps
    assert completed(str(folder)).arguments == {}
