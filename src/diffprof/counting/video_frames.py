"""Converts videos to arrays frame by frame, which halves the memory: five seconds of stand-in video take a gigabyte."""

from __future__ import annotations

from typing import Any

from diffprof.pipelines.patching import Patches


def convert_by_frame(patches: Patches) -> None:
    """Let diffusers, which makes numbers of all frames and then copies them, put each in its place at once."""
    from diffusers.image_processor import VaeImageProcessor

    patches.function(VaeImageProcessor, "pil_to_numpy", _by_frame)


def _by_frame(original: Any) -> Any:
    def pil_to_numpy(images: Any) -> Any:
        # Of frames that differ, diffusers says what is wrong.
        if not isinstance(images, list) or len({(image.size, image.mode) for image in images}) != 1:
            return original(images)
        import numpy

        (first,) = original(images[:1])
        video = numpy.empty((len(images), *first.shape), first.dtype)
        for place, image in enumerate(images):
            (video[place],) = original([image])
        return video

    return pil_to_numpy
