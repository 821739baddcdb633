"""How far two images are apart, as a record; `diffprof.comparison.images` measures it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImageDifference:
    """Two images that should look the same."""

    before: str
    after: str
    """The files."""
    identical: bool
    """Every pixel is the same."""
    psnr_db: float | None
    """Peak signal-to-noise ratio in decibels, higher is closer; None if they are identical or cannot be compared."""
    ssim: float | None
    """Structural similarity, 1 is the same; None if they cannot be compared."""
    note: str = ""
    """Why they cannot be compared."""
