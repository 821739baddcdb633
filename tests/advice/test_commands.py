"""The command that says a figure again."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from diffprof.advice.commands import command_line, is_plain
from diffprof.record.changes import Changes
from diffprof.record.inputs import ImageSize, VideoSize
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings


def words(request: Request, settings: RunSettings | None = None, device: tuple[str, ...] = ()) -> list[str]:
    return shlex.split(command_line("fit", request, settings or RunSettings(), device))[2:]


def test_arguments_have_their_options_and_others_are_set() -> None:
    arguments = {"height": 512, "num_inference_steps": 20, "guidance_scale": 7.0, "prompt": "it's a cat", "flag": True}
    assert words(Request("sdxl", arguments)) == [
        *("sdxl", "--height", "512", "--steps", "20", "--guidance", "7", "--set", 'prompt="it\'s a cat"'),
        *("--set", "flag=true"),
    ]


def test_images_are_given_by_their_size() -> None:
    arguments = {"image": ImageSize(1024, 768), "video": VideoSize(81, 832, 480)}
    assert words(Request("wan", arguments))[1:] == ["--image", "1024x768", "--video", "81x832x480"]


def test_an_object_of_the_program_is_left_out() -> None:
    assert words(Request("sdxl", {"generator": object()})) == ["sdxl"]


def test_changes_and_switches_are_options() -> None:
    request = Request(
        "sdxl", {}, dtype="float16", scheduler="Euler", enable=("vae_tiling",),
        changes=Changes(lora=("a", "b"), guidance_interval=(0.0, 0.6)),
    )  # fmt: skip
    assert words(request)[1:] == [
        *("--dtype", "float16", "--scheduler", "Euler", "--enable", "vae_tiling"),
        *("--lora", "a", "--lora", "b", "--guidance-interval", "0:0.6"),
    ]


def test_settings_that_are_usual_are_not_said() -> None:
    settings = RunSettings(
        offload="group", use_stream=False, blocks_per_group=2, quantize={"*": "gguf:Q4_K", "vae": "quanto:int8"},
        drop_text_encoders=True, attention="math", compiled=True, devices=2, skip_rate=0.3, without=("text_encoder_3",),
    )  # fmt: skip
    assert words(Request("m"), settings, ("--gpu", "l4"))[1:] == [
        *("--quantize", "gguf:Q4_K", "--quantize", "vae=quanto:int8", "--offload", "group", "--no-stream"),
        *("--blocks-per-group", "2", "--drop-text-encoders", "--attention", "math", "--compile", "--devices", "2"),
        *("--without", "text_encoder_3", "--skip-rate", "0.3", "--gpu", "l4"),
    ]
    assert words(Request("m"), RunSettings()) == ["m"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [(None, True), ([1, ("a", 2.0)], True), ({"a": [True]}, True), ({1: 2}, False), ([object()], False)],
)
def test_only_values_that_can_be_written_down_are_plain(value: Any, plain: bool) -> None:
    assert is_plain(value) is plain
