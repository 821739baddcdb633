"""The page of several profiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.comparison import compare
from diffprof.comparison.curves import Curve, Growth
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.views.page import comparison_html
from diffprof.comparison.views.report import report_html
from tests.render.report.reports import MAX_BYTES, enormous, sections, words
from tests.sample_profiles import stable_diffusion


def test_two_profiles_show_differences_of_the_request_first() -> None:
    page = report_html([stable_diffusion(), stable_diffusion(steps=10, unet_calls=11)], ["old", "new"])
    assert sections(page)[:3] == ["Can they be compared?", "Side by side", "Where the cost goes"]
    text = words(page)
    assert "one generation with new costs 0.387x what old costs: 10.1 TMACs instead of 26.2 TMACs." in text
    assert "No, the requests differ" in text
    assert "Counted" in sections(page)


def test_equal_profiles_say_that_they_cost_the_same() -> None:
    page = report_html([stable_diffusion(), stable_diffusion()], ["old", "new"])
    assert "new costs exactly as much as old: 26.2 TMACs for one generation." in words(page)


def test_many_profiles_say_which_costs_least_and_which_most() -> None:
    several = [stable_diffusion(), stable_diffusion(unet_calls=1), stable_diffusion(unet_calls=100)]
    text = words(report_html(several, ["a", "b", "c"]))
    assert "b costs least with 2.11 TMACs a generation, c most with 81.7 TMACs, 38.8x as much." in text


def test_images_of_a_comparison_are_in_the_page(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.png", "b.png", "missing.png")]
    files[0].write_bytes(b"\x89PNG one")
    files[1].write_bytes(b"no image")
    differences = tuple(ImageDifference(str(files[0]), str(file), False, 31.5, 0.98) for file in files[1:])
    page = comparison_html(replace(compare([stable_diffusion()] * 2, ["a", "b"]), images=differences))
    assert '<img src="data:image/png;base64,iVBORyBvbmU=" alt="a.png">' in page
    assert "b.png has a format that a page cannot show." in words(page)
    assert "missing.png cannot be shown: No such file or directory." in words(page)
    assert "PSNR" in words(page)


def test_curves_of_models_are_in_the_page_where_they_lead_somewhere() -> None:
    compared = compare([stable_diffusion(), stable_diffusion()], ["a", "b"])
    lead = [Curve("a", [1, 2], [10, 20]), Curve("b", [2], [30])]
    point = [Curve("a", [1], [10]), Curve("b", [], [])]
    page = comparison_html(replace(compared, growth=Growth(lead, point, ["b has no size"])))
    assert "How the cost grows" in sections(page)
    assert "b has no size" in words(page)
    assert 'aria-label="MACs over the pixels of the image"' in page
    assert 'aria-label="MACs over the denoising steps"' not in page
    assert "How the cost grows" not in sections(comparison_html(replace(compared, growth=Growth(point, point))))


@pytest.mark.extensive
def test_the_page_of_many_large_profiles_stays_small() -> None:
    assert len(report_html([enormous()] * 4, list("abcd")).encode()) <= MAX_BYTES
