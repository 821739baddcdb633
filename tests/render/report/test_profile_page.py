"""The report of one profile: what it says, and how large it is."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from diffprof.errors import RequestError
from diffprof.record.sizes import ComputedSize
from diffprof.render.report.profile_page import profile_html
from tests.render.report.reports import ENDING, MAX_BYTES, chart_data, enormous, hostile_everywhere, sections, words
from tests.sample_iterations import CPU, iteration_on
from tests.sample_profiles import everything_measured, measured_profile, nothing, stable_diffusion


def test_a_counted_profile_says_its_cost_first_and_how_far_to_trust_it_last() -> None:
    page = profile_html(stable_diffusion())
    assert sections(page) == [
        "Where the cost goes", "On which hardware", "Kinds of work", "Attention", "Top operations",
        "What was counted, and what was assumed", "Request and environment",
    ]  # fmt: skip
    text = words(page)
    assert "One generation costs 26.2 TMACs (52.5 TFLOPs; exactly 26,234,368,094,208 MACs); 95.0 % of that" in text
    assert "The prompt is a stand-in of 7 words." in text


def test_a_measured_profile_has_its_findings_before_everything_else() -> None:
    page = profile_html(everything_measured())
    assert sections(page) == [
        "Findings", "Where the cost goes", "Denoising steps", "Timeline of one generation", "Time against MACs",
        "Memory over time", "Caches", "Weights moved", "Kinds of work", "Attention", "Top operations",
        "On which hardware", "What was counted, and what was assumed", "Request and environment",
    ]  # fmt: skip
    text = words(page)
    assert "One generation took 59.7 ms on NVIDIA A100-SXM4-80GB, 67.0 % of it in unet_forward." in text
    assert "did not finish" in text
    assert "One call could not be counted." in text


def test_a_run_without_problems_says_so() -> None:
    even = measured_profile(iterations=[iteration_on(CPU, text_ms=700, vae_ms=7_500) for _ in range(3)])
    assert "Findings Nothing stands out." in " ".join(words(profile_html(even)).split())


def test_a_profile_of_nothing_is_a_page_too() -> None:
    page = profile_html(nothing())
    assert "Nothing was counted for this generation." in words(page)
    assert chart_data(page) == {}


def test_a_changed_size_is_at_the_top() -> None:
    changed = replace(stable_diffusion(), computed_size=ComputedSize(1024, 1024, 512, 512))
    page = profile_html(changed)
    assert sections(page)[0] == "What to know"
    assert "the pipeline computes at 1024x1024 and resizes to 512x512" in words(page)


def test_hostile_names_neither_end_nor_start_a_script() -> None:
    harmless = profile_html(everything_measured())
    page = profile_html(hostile_everywhere())
    for tag in ("<script", "</script", "<img"):
        assert page.count(tag) == harmless.count(tag), tag
    assert ENDING not in page


def test_the_page_allows_no_script_but_its_own_and_no_address() -> None:
    page = profile_html(stable_diffusion())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy.group(1)
    assert not re.search(r'(?:src|href)="(?!#|data:)', re.sub(r"<script.*?</script>", "", page, flags=re.S))


def test_a_page_without_plotly_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[report\]'"):
        profile_html(stable_diffusion())


@pytest.mark.extensive
def test_the_page_of_an_enormous_run_stays_small() -> None:
    page = profile_html(enormous())
    assert len(page.encode()) <= MAX_BYTES
