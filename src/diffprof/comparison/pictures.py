"""How far two pictures are apart: peak signal-to-noise ratio and structural similarity, and both side by side."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.comparison.picture_difference import PictureDifference
from diffprof.errors import FileFormatError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Pixels = NDArray[np.float64]

PEAK = 255.0

# Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment", 2004: an 11 x 11 Gaussian window of deviation 1.5.
RADIUS, DEVIATION = 5, 1.5
K1, K2 = 0.01, 0.03

GAP = 8
"""Pixels between two pictures side by side."""


def picture_difference(before: str | Path, after: str | Path) -> PictureDifference:
    """Compare two picture files; of different sizes there is nothing to compare but the sizes."""
    import numpy as np

    one, other = _opened(before), _opened(after)
    names = (str(before), str(after))
    if one.size != other.size:
        sizes = " and ".join(f"{width} x {height}" for width, height in (one.size, other.size))
        return PictureDifference(*names, False, None, None, f"not of the same size: {sizes}")
    first, second = (np.asarray(picture, dtype=np.float64) for picture in (one, other))
    if (first == second).all():
        return PictureDifference(*names, True, None, 1.0)
    return PictureDifference(*names, False, psnr(first, second), ssim(first, second))


def psnr(before: Pixels, after: Pixels) -> float:
    """``10 log10(255² / MSE)`` over all pixels and colours; the two must differ."""
    return float(10 * math.log10(PEAK**2 / ((before - after) ** 2).mean()))


def ssim(before: Pixels, after: Pixels) -> float:
    """The mean of the local similarity over all places where the window fits, and over the colours."""
    if min(before.shape[:2]) <= 2 * RADIUS:
        # The window does not fit anywhere: the whole picture is the window.
        return _similarity(*(_global(values) for values in _moments(before, after)))
    return _similarity(*(_smooth(values) for values in _moments(before, after)))


def side_by_side(pictures: list[Path]) -> bytes:
    """The pictures in a row, as a PNG."""
    from PIL import Image

    opened = [_opened(picture) for picture in pictures]
    width = sum(picture.width for picture in opened) + GAP * (len(opened) - 1)
    row = Image.new("RGB", (width, max(picture.height for picture in opened)), "white")
    left = 0
    for picture in opened:
        row.paste(picture, (left, 0))
        left += picture.width + GAP
    made = io.BytesIO()
    row.save(made, "PNG")
    return made.getvalue()


def _opened(path: str | Path) -> Image:
    from PIL import Image

    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except OSError as error:
        raise FileFormatError(f"Cannot read the picture {path}: {error.strerror or 'it is not one'}.") from error
    except (Image.DecompressionBombError, ValueError, SyntaxError) as error:
        raise FileFormatError(f"Cannot read the picture {path}: {error}.") from error


def _moments(before: Pixels, after: Pixels) -> tuple[Pixels, Pixels, Pixels, Pixels, Pixels]:
    return before, after, before * before, after * after, before * after


def _similarity(x: Pixels, y: Pixels, xx: Pixels, yy: Pixels, xy: Pixels) -> float:
    """From the local means of the pictures, their squares and their product."""
    c1, c2 = (K1 * PEAK) ** 2, (K2 * PEAK) ** 2
    means, variances = x * x + y * y, xx - x * x + yy - y * y
    local = (2 * x * y + c1) * (2 * (xy - x * y) + c2) / ((means + c1) * (variances + c2))
    return float(local.mean())


def _smooth(values: Pixels) -> Pixels:
    """The Gaussian mean around each pixel whose window lies within the picture; first down, then across."""
    import numpy as np

    places = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-(places**2) / (2 * DEVIATION**2))
    weights /= weights.sum()
    for axis in (0, 1):
        length = values.shape[axis] - 2 * RADIUS
        shifted = [np.take(values, np.arange(start, start + length), axis) for start in range(2 * RADIUS + 1)]
        values = sum(weight * part for weight, part in zip(weights, shifted, strict=True))
    return values


def _global(values: Pixels) -> Pixels:
    return values.mean(axis=(0, 1), keepdims=True)
