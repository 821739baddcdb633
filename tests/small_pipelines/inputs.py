"""What small pipelines are called with: a prompt, and seeded noise, images, masks and videos."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

    from .small_pipeline import Arguments

PROMPT = "a small red house by the sea"


def short_run(**changes: object) -> Arguments:
    """Arguments of a seeded run of two steps; a change to None takes an argument away."""
    arguments: Arguments = {
        "prompt": PROMPT,
        "num_inference_steps": 2,
        "generator": seeded_generator(),
        "output_type": "np",
        **changes,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def seeded_generator() -> torch.Generator:
    import torch

    return torch.Generator("cpu").manual_seed(0)


def seeded_tensor(*shape: int) -> torch.Tensor:
    """Standard normal values of the given shape, the same each time."""
    import torch

    return torch.randn(*shape, generator=seeded_generator())


def seeded_image(height: int, width: int | None = None) -> Image:
    """An RGB image of noise, square unless a width is given."""
    import numpy
    from PIL import Image

    pixels = numpy.random.default_rng(0).integers(0, 256, (height, width or height, 3))
    return Image.fromarray(pixels.astype(numpy.uint8))


def half_mask(size: int) -> Image:
    """A square black mask whose right half is white, so to be painted."""
    from PIL import Image

    mask = Image.new("L", (size, size), 0)
    mask.paste(255, (size // 2, 0, size, size))
    return mask


def seeded_video(frames: int, size: int) -> list[Image]:
    return [seeded_image(size) for _ in range(frames)]
