"""How far images are apart, compared with numbers worked out by hand and those of scikit-image."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diffprof.comparison.images import GAP, image_difference, psnr, side_by_side, ssim
from diffprof.errors import FileFormatError

HEIGHT, WIDTH = 24, 32
DOWN, ACROSS = np.mgrid[0:HEIGHT, 0:WIDTH]
ONE = np.stack([(ACROSS * 7 + DOWN * 3) % 256, (ACROSS * DOWN) % 256, (ACROSS * 5) % 256], -1).astype(np.float64)
OTHER = np.stack([(ACROSS * 7 + DOWN * 3 + 9) % 256, (ACROSS * DOWN) % 256, np.full((HEIGHT, WIDTH), 90)], -1).astype(
    np.float64
)


def saved(pixels: np.ndarray, path: Path) -> Path:
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


def test_metrics_equal_those_of_scikit_image() -> None:
    """Version 0.26: gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255."""
    assert ssim(ONE, OTHER) == pytest.approx(0.8036817745830016, rel=1e-9)
    assert psnr(ONE, OTHER) == pytest.approx(17.1998958158603, rel=1e-9)


def test_a_difference_of_one_everywhere_is_48_decibels() -> None:
    black = np.zeros((20, 20, 3))
    assert psnr(black, black + 1) == pytest.approx(48.1308, abs=1e-4)
    assert psnr(black, black + 255) == 0


def test_similarity_is_1_only_for_the_same_and_falls_with_the_noise() -> None:
    noise = np.random.default_rng(0).normal(0, 1, ONE.shape)
    found = [ssim(ONE, ONE + strength * noise) for strength in (0, 5, 20, 80)]
    assert found[0] == pytest.approx(1, abs=1e-12)
    assert found == sorted(found, reverse=True)
    assert ssim(OTHER, ONE) == pytest.approx(ssim(ONE, OTHER), rel=1e-12)


def test_an_image_smaller_than_the_window_is_one_window() -> None:
    small = ONE[:6, :6]
    assert ssim(small, small) == pytest.approx(1)
    assert ssim(small, 255 - small) < 0.5


def test_files_are_compared_pixel_by_pixel(tmp_path: Path) -> None:
    one, other = saved(ONE, tmp_path / "one.png"), saved(OTHER, tmp_path / "other.png")
    same = image_difference(one, saved(ONE, tmp_path / "same.bmp"))
    assert (same.identical, same.psnr_db, same.note) == (True, None, "")
    found = image_difference(one, other)
    assert (found.identical, found.before, found.after) == (False, str(one), str(other))
    assert found.psnr_db == pytest.approx(17.1998958158603)
    assert found.ssim == pytest.approx(0.8036817745830016)


def test_images_of_different_sizes_cannot_be_compared(tmp_path: Path) -> None:
    found = image_difference(saved(ONE, tmp_path / "a.png"), saved(ONE[:10], tmp_path / "b.png"))
    assert (found.psnr_db, found.ssim, found.note) == (None, None, "not of the same size: 32 x 24 and 32 x 10")


def test_side_by_side_they_stand_in_their_order(tmp_path: Path) -> None:
    paths = [saved(ONE, tmp_path / "a.png"), saved(OTHER[:10], tmp_path / "b.png")]
    made = np.asarray(Image.open(io.BytesIO(side_by_side(paths))))
    assert made.shape == (HEIGHT, 2 * WIDTH + GAP, 3)
    assert (made[:, :WIDTH] == ONE).all()
    assert (made[:10, WIDTH + GAP :] == OTHER[:10]).all()
    assert (made[:, WIDTH : WIDTH + GAP] == 255).all()


@pytest.mark.parametrize("content", [None, b"not a picture", b"\x89PNG\r\n\x1a\n", b""])
def test_a_file_that_is_not_an_image_is_rejected_with_a_message(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileFormatError, match="Cannot read the image") as error:
        image_difference(path, path)
    assert str(error.value).count(".") <= str(path).count(".") + 1
    assert str(error.value).endswith(".")
