"""The report of one profile or of several."""

from __future__ import annotations

from diffprof.comparison import compare
from diffprof.comparison.views.page import comparison_html
from diffprof.comparison.views.report import report_html
from diffprof.render.report.profile_page import profile_html
from tests.sample_profiles import stable_diffusion


def test_one_profile_has_its_own_page_and_several_are_compared() -> None:
    one, other = stable_diffusion(), stable_diffusion(unet_calls=1)
    assert report_html([one], ["a"]) == profile_html(one)
    assert report_html([one, other], ["a", "b"]) == comparison_html(compare([one, other], ["a", "b"]))
