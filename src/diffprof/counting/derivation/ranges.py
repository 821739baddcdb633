"""The ranges of sizes, steps, images and guidance that a law is derived for."""

from __future__ import annotations

from enum import Enum

from diffprof.laws.law import Range

SCALES = {"none": 0.0, "below 1": 0.5, "1": 1.0, "above 1": 6.5}
SIDE_RANGE = (256, 2048)
USUAL_LEAST = 512
"""Some pipelines treat smaller images differently."""
VIDEO_SIDE_RANGE = (256, 1280)
CELLS = (8, 16, 32, 64)
"""Cells in pixels that sides may have to be multiples of."""
MAX_STEPS = 150
STEP_BASES = ((11, 9, 12, 14), (19, 17, 23, 29))
"""Numbers of steps that are sampled: some schedulers behave differently below 15."""
STEPS_TO_PROVE = (1, 2, 3, 4, 8, 28, 60)
SINGLE_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 22, 24, 25, 28, 30, 32, 35, 36, 40, 45, 48, 50)
"""Numbers of steps for pipelines whose steps follow no law: those of the same form share a program."""
MAX_SIZED_GROUPS = 4
"""The number of step groups that get programs for all sizes; the others cover only the default size."""
PADDED_CELL, PADDED_AREA = 16, 16 * 16 * 32
"""Some pipelines pad the tokens of an image, each of one cell, to a multiple of 32."""
ONE_IMAGE = Range(1, 1)
SEVERAL_IMAGES = Range(2, 8)
"""The numbers of several images: one image needs fewer copies, and gets its own program."""
BASE_IMAGES = 3
"""Not 1 or 2: operations on one image, or on one image with and without guidance, would be ambiguous."""


class Reach(Enum):
    """The reach of a law, besides steps; each takes several times as long to derive as the one before."""

    default_size = "default size"
    """Only the default size."""
    sizes = "sizes"
    everything = "everything"
    """Sizes, several images, and guidance scales that have other effects than the default."""
