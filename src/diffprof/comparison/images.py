"""Compare images by peak signal-to-noise ratio and structural similarity, and put them side by side."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.comparison.image_difference import ImageDifference
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
"""Pixels between two images side by side."""


def image_difference(before: str | Path, after: str | Path) -> ImageDifference:
    """Compare two image files; if their sizes differ, nothing else can be compared."""
    import numpy as np

    one, other = _open(before), _open(after)
    names = (str(before), str(after))
    if one.size != other.size:
        sizes = " and ".join(f"{width} x {height}" for width, height in (one.size, other.size))
        return ImageDifference(*names, False, None, None, f"not of the same size: {sizes}")
    first, second = (np.asarray(image, dtype=np.float64) for image in (one, other))
    if (first == second).all():
        return ImageDifference(*names, True, None, 1.0)
    return ImageDifference(*names, False, psnr(first, second), ssim(first, second))


def psnr(before: Pixels, after: Pixels) -> float:
    """``10 log10(255² / MSE)`` over all pixels and channels; the images must not be identical."""
    return float(10 * math.log10(PEAK**2 / ((before - after) ** 2).mean()))


def ssim(before: Pixels, after: Pixels) -> float:
    """The mean local similarity over all positions of the window and all channels."""
    if min(before.shape[:2]) <= 2 * RADIUS:
        # The image is smaller than the window, so the whole image is the window.
        return _similarity(*(_global(values) for values in _moments(before, after)))
    return _similarity(*(_smooth(values) for values in _moments(before, after)))


def side_by_side(files: list[Path]) -> bytes:
    """The images in a row, as a PNG."""
    from PIL import Image

    images = [_open(file) for file in files]
    width = sum(image.width for image in images) + GAP * (len(images) - 1)
    row = Image.new("RGB", (width, max(image.height for image in images)), "white")
    left = 0
    for image in images:
        row.paste(image, (left, 0))
        left += image.width + GAP
    png = io.BytesIO()
    row.save(png, "PNG")
    return png.getvalue()


def _open(path: str | Path) -> Image:
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except OSError as error:
        raise FileFormatError(f"Cannot read the image {path}: {error.strerror or 'it is not an image'}.") from error
    except (Image.DecompressionBombError, ValueError, SyntaxError) as error:
        raise FileFormatError(f"Cannot read the image {path}: {error}.") from error


def _moments(before: Pixels, after: Pixels) -> tuple[Pixels, Pixels, Pixels, Pixels, Pixels]:
    return before, after, before * before, after * after, before * after


def _similarity(x: Pixels, y: Pixels, xx: Pixels, yy: Pixels, xy: Pixels) -> float:
    """The similarity from local means of the images, of their squares, and of their product."""
    c1, c2 = (K1 * PEAK) ** 2, (K2 * PEAK) ** 2
    means, variances = x * x + y * y, xx - x * x + yy - y * y
    local = (2 * x * y + c1) * (2 * (xy - x * y) + c2) / ((means + c1) * (variances + c2))
    return float(local.mean())


def _smooth(values: Pixels) -> Pixels:
    """The Gaussian mean around each pixel whose window lies within the image; by columns, then by rows."""
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
