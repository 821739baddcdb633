"""A request is built and checked in one place, whichever way it is given."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.record.request import Request, parse_inputs, parse_setting


def test_options_and_python_give_the_same_request() -> None:
    typed = Request.parse(
        "sdxl", {"height": "512", "num_inference_steps": "30", "guidance_scale": "7.5", "width": None},
        ["eta=0.5", "prompt=a cat"], dtype="fp16", enable=["freeu"], seed="3", device="cpu",
    )  # fmt: skip
    created = Request.create(
        "sdxl", {"height": 512, "num_inference_steps": 30, "guidance_scale": 7.5, "eta": 0.5, "prompt": "a cat"},
        dtype="float16", enable="freeu", seed=3, device="cpu",
    )  # fmt: skip
    assert typed == created


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"height": 0}, "height must be a whole number from 1 to 16,384, not 0"),
        ({"num_inference_steps": 2.0}, "num_inference_steps must be a whole number"),
        ({"num_frames": [5]}, "num_frames must be a whole number"),
        ({"guidance_scale": "much"}, "guidance_scale must be a number, not 'much'"),
        ({"eta": float("nan")}, "eta must be a finite number"),
    ],
)
def test_impossible_requests_are_rejected(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        Request.create("sdxl", arguments)


def test_a_wrong_option_is_named_as_it_was_typed() -> None:
    with pytest.raises(RequestError, match=r"^--steps must be a whole number from 1 to 100,000, not 0"):
        Request.parse("sdxl", {"num_inference_steps": "0"})
    with pytest.raises(RequestError, match=r"^--steps must be a whole number"):
        Request.parse("sdxl", {}, ["num_inference_steps=0"])
    with pytest.raises(RequestError, match=r"^--seed must be a whole number from 0"):
        Request.parse("sdxl", {}, seed="-1")


def test_what_a_pipeline_may_have_a_meaning_for_is_left_to_it() -> None:
    arguments = {"height": None, "guidance_scale": [7.5, 5.0], "anything": object}
    assert Request.create("sdxl", arguments).arguments == arguments


@pytest.mark.parametrize("given", [("--height", ["height=8"]), ("", ["x=1", "x=2"])])
def test_an_argument_is_given_once(given: tuple[str, list[str]]) -> None:
    numbers = {"height": "8"} if given[0] else {}
    with pytest.raises(RequestError, match="is given twice; leave one out"):
        Request.parse("sdxl", numbers, given[1])


def test_options_of_their_own_cannot_be_set() -> None:
    with pytest.raises(RequestError, match="dtype is not a call argument"):
        parse_setting("dtype=float16")


def test_other_arguments_make_another_request() -> None:
    request = Request.create("sdxl", {"height": 512}, dtype="bf16")
    changed = request.with_arguments({"height": 768, "width": 512})
    assert changed == Request("sdxl", {"height": 768, "width": 512}, dtype="bfloat16")
    assert request.arguments == {"height": 512}


def test_inputs_of_a_component_are_names_and_shapes() -> None:
    assert parse_inputs(["x=1x2", "ids=1x77:int64"], "unet") == {"x": "1x2", "ids": "1x77:int64"}
    assert parse_inputs([], None) == {}


@pytest.mark.parametrize(
    ("texts", "component", "message"),
    [
        (["x"], "unet", "--input takes NAME=SHAPE"),
        (["x="], "unet", "--input takes NAME=SHAPE"),
        (["x=1", "x=2"], "unet", "The input x is given twice"),
        (["x=1"], None, "--input is for a single component"),
    ],
)
def test_inputs_that_cannot_be_meant_are_refused(texts: list[str], component: str | None, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_inputs(texts, component)
