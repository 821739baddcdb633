"""`diffprof.inference` passes what the guides' functions are given on to the generation, without loss."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from diffprof import inference
from diffprof.errors import RequestError
from diffprof.generation.generate import GenerationOptions
from diffprof.generation.job import Generated
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request

ARGUMENTS = {
    "prompt": "a cat", "negative_prompt": "a dog", "num_inference_steps": 3, "guidance_scale": 2.5, "width": 64,
    "height": 32,
}  # fmt: skip
FIELDS = {
    "seed": 7, "scheduler": "heun", "cache": "first_block", "device": "cpu", "dtype": "bfloat16", "offload": "model",
}  # fmt: skip
OPTIONS = {"output_dir": Path("images"), "enable_profiling": False, "fps": 8, "manager": None}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What would have been generated."""
    made: list[tuple[Any, ...]] = []

    def note(*arguments: Any, **options: Any) -> Generated:
        made.append((*arguments, options))
        return Generated(None, Path("image.png"), 7, PROFILING_DATA)

    for name in ("generate", "generate_batch"):
        monkeypatch.setattr(inference, name, note)
    return made


PROFILING_DATA = {
    "enabled": True, "model_id": "shapes", "params_str": "1.00M", "total_flops_str": "2 GFLOPs",
    "total_macs_str": "1 GMACs", "flops_per_step_str": "2 MFLOPs", "macs_per_step_str": "1 MMACs",
    "num_inference_steps": 30, "inference_time_str": "1.000s",
}  # fmt: skip


def test_the_compute_profile_is_printed_unless_an_argument_or_the_settings_say_no(
    calls: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inference.generate_image("shapes")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Compute Profile for shapes:"
    assert "   MACs (total): 1 GMACs" in lines
    assert lines[-1] == "Inference time: 1.000s"
    inference.generate_image("shapes", quiet=True)
    monkeypatch.setenv("DIFFPROF_PRINT_COMPUTE_PROFILE", "0")
    inference.generate_image("shapes")
    assert capsys.readouterr().out == ""


def test_one_image_is_requested_with_all_that_was_given(calls: list[tuple[Any, ...]]) -> None:
    pipe = object()
    inference.generate_image("shapes", pipe=pipe, eta=0.5, **ARGUMENTS, **FIELDS, **OPTIONS)  # type: ignore[arg-type]
    expected = Request.create("shapes", {**ARGUMENTS, "eta": 0.5}, **FIELDS)  # type: ignore[arg-type]
    assert expected.cache == "first_block"
    assert calls == [(expected, GenerationOptions(**OPTIONS), None, {"pipe": pipe})]  # type: ignore[arg-type]


def test_several_models_share_one_request(calls: list[tuple[Any, ...]]) -> None:
    given = {**ARGUMENTS, **FIELDS, **OPTIONS}
    inference.generate_images_sequential(["a", "b"], unload_after_inference=False, **given)  # type: ignore[arg-type]
    expected = Request.create("", ARGUMENTS, **FIELDS)  # type: ignore[arg-type]
    assert calls == [(["a", "b"], expected, GenerationOptions(**OPTIONS), None, {"unload": False})]  # type: ignore[arg-type]


def test_the_arguments_of_the_guides_can_be_passed_by_position(calls: list[tuple[Any, ...]]) -> None:
    inference.generate_image("shapes", "a cat", "a dog", 3, 2.5, 64, 32, 7, "heun")
    assert calls[0][0] == Request("shapes", ARGUMENTS, seed=7, scheduler="heun")


def test_what_was_not_given_is_not_requested(calls: list[tuple[Any, ...]]) -> None:
    inference.generate_image()
    assert calls[0][0] == Request("")


def test_the_progress_callback_is_given_a_message_and_two_numbers(calls: list[tuple[Any, ...]]) -> None:
    messages: list[tuple[Any, ...]] = []
    inference.generate_image("shapes", "a cat", progress_callback=lambda *event: messages.append(event))
    progress = calls[0][2]
    progress(ProgressEvent(Activity.denoising, "shapes", 2, 5))
    ((message, done, total),) = messages
    assert isinstance(message, str) and message
    assert (done, total) == (2, 5)


def test_a_wrong_request_is_rejected_before_anything_is_generated(calls: list[tuple[Any, ...]]) -> None:
    with pytest.raises(RequestError, match="width must be a whole number"):
        inference.generate_image("shapes", "a cat", width=-8)
    assert calls == []


@pytest.mark.parametrize("function", [inference.generate_image, inference.generate_images_sequential])
def test_every_field_of_a_request_and_of_its_options_is_an_argument(function: Any) -> None:
    names = {*ARGUMENTS, *FIELDS, *(field.name for field in fields(GenerationOptions))}
    assert names <= set(inspect.signature(function).parameters)
