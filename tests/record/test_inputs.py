"""Images and videos that are given by their size."""

from __future__ import annotations

import pytest

from diffprof.errors import RequestError
from diffprof.record.inputs import ImageSize, VideoSize, is_input, parse_size, plain_input, recorded_input
from diffprof.record.request import Request


def test_a_size_is_two_sides_or_frames_and_two_sides() -> None:
    assert parse_size("1024x768", "--image") == ImageSize(1024, 768)
    assert parse_size(" 81 X 832 x 480 ", "--video") == VideoSize(81, 832, 480)


@pytest.mark.parametrize("text", ["", "1024", "0x5", "1x2x3x4", "axb", "-3x4", "99999x10", "9999999999x1", "1.5x2"])
def test_anything_else_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(RequestError, match=r"^--image (takes|must be)") as refusal:
        parse_size(text, "--image")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("size", [ImageSize(10, 20), VideoSize(5, 10, 20), [ImageSize(1, 2), ImageSize(3, 4)]])
def test_a_recorded_size_is_read_again(size: object) -> None:
    assert recorded_input("image", plain_input(size)) == size


def test_a_prompt_is_never_an_image() -> None:
    assert recorded_input("prompt", "image 10x20") == "image 10x20"
    assert is_input("control_image") and is_input("mask") and is_input("pose_video") and is_input("conditioning_frames")
    assert not any(map(is_input, ("image_embeds", "num_frames", "prompt", "image_guidance_scale", "latents")))


def test_options_and_repeated_options_give_sizes() -> None:
    request = Request.parse("m", {}, sizes={"image": ["8x16", "16x8"], "mask_image": ["8x8"], "video": None})
    assert request.arguments == {"image": [ImageSize(8, 16), ImageSize(16, 8)], "mask_image": ImageSize(8, 8)}
    with pytest.raises(RequestError, match="--mask takes WIDTHxHEIGHT"):
        Request.parse("m", {}, sizes={"mask_image": ["large"]})
