"""How far two pictures are apart: the record; `diffprof.comparison.pictures` measures it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PictureDifference:
    """Two pictures that should look the same."""

    before: str
    after: str
    """The files."""
    identical: bool
    """Every pixel is the same."""
    psnr_db: float | None
    """Peak signal-to-noise ratio in decibels, more is nearer; None where they are identical or cannot be compared."""
    ssim: float | None
    """Structural similarity, 1 is the same; None where they cannot be compared."""
    note: str = ""
    """Why they cannot be compared."""
