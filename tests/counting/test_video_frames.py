"""A video has exactly the numbers that diffusers gives it, made in the memory of one copy of it."""

from __future__ import annotations

import tracemalloc

import numpy
import pytest
from diffusers.image_processor import VaeImageProcessor
from PIL import Image

from diffprof.counting.video_frames import convert_by_frame
from diffprof.pipelines.patching import Patches

FRAMES = [Image.effect_noise((64, 32), 50).convert("RGB") for _ in range(20)]


@pytest.mark.parametrize(
    "images",
    [FRAMES, FRAMES[:1], FRAMES[0], [frame.convert("L") for frame in FRAMES]],
    ids=["video", "one frame", "picture", "masks"],
)
def test_the_numbers_are_those_of_diffusers(images: list[Image.Image]) -> None:
    usual = VaeImageProcessor.pil_to_numpy(images)
    with Patches() as patches:
        convert_by_frame(patches)
        made = VaeImageProcessor().pil_to_numpy(images)
    assert (made.dtype, made.strides) == (usual.dtype, usual.strides)
    assert numpy.array_equal(made, usual)


def test_there_is_one_copy_of_a_film() -> None:
    with Patches() as patches:
        convert_by_frame(patches)
        tracemalloc.start()
        video = VaeImageProcessor.pil_to_numpy(FRAMES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert video.nbytes < peak < 1.5 * video.nbytes


def test_what_is_no_film_is_refused_in_the_words_of_diffusers() -> None:
    with Patches() as patches:
        convert_by_frame(patches)
        with pytest.raises(ValueError, match="all input arrays must have the same shape"):
            VaeImageProcessor.pil_to_numpy([FRAMES[0], FRAMES[0].resize((4, 4))])
