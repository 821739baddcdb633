"""The difference of two images, as computed by `diffprof.comparison.images`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImageDifference:
    """The difference of two images."""

    before: str
    after: str
    """The names of the files."""
    identical: bool
    """Whether every pixel is the same."""
    psnr_db: float | None
    """Peak signal-to-noise ratio in decibels; None if the images are identical or cannot be compared."""
    ssim: float | None
    """Structural similarity, 1 if identical; None if the images cannot be compared."""
    note: str = ""
    """Why the images cannot be compared."""
