"""What a report says, and how large it is."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from diffprof.comparison.curves import Curve, Growth
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.views.page import comparison_html
from diffprof.comparison.views.report import report_html
from diffprof.errors import RequestError
from diffprof.record.measured import CacheEvent, SystemPoint
from diffprof.record.profile import ComputedSize, Module, ModuleWork, Profile, Work
from tests.iterations_made_by_hand import CPU, GPU, iteration_on
from tests.profiles_made_by_hand import everything_measured, measured_profile, nothing, stable_diffusion
from tests.render.report.reports import ENDING, hostile_everywhere

MOST_BYTES = 6_000_000


def sections(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def words(page: str) -> str:
    """What is read in the page, without its scripts."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S))


def figures(page: str) -> dict[str, dict[str, object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return dict(json.loads(found.group(1))["charts"])


def test_a_counted_profile_says_its_cost_first_and_how_far_to_trust_it_last() -> None:
    page = report_html([stable_diffusion()], ["a"])
    assert sections(page) == [
        "Where the cost goes", "Denoising steps", "Kinds of work", "Attention", "Top operations",
        "Ledger and assumptions", "Request and environment",
    ]  # fmt: skip
    text = words(page)
    assert "One generation costs 26.23 TMACs (52.47 TFLOPs); 95.0 % of that is unet in 31 calls." in text
    assert "exactly 26,234,368,094,208" in text.replace("&#x27;", "'")
    assert "The prompt is a stand-in of 7 words." in text


def test_a_measured_profile_has_its_findings_before_everything_else() -> None:
    page = report_html([everything_measured()], ["a"])
    assert sections(page) == [
        "Findings", "Where the cost goes", "Denoising steps", "Timeline of one generation", "Time against MACs",
        "Memory over time", "Caches", "Weights moved", "Kinds of work", "Attention", "Top operations",
        "Ledger and assumptions", "Request and environment",
    ]  # fmt: skip
    text = words(page)
    assert "It took 59.70ms on NVIDIA A100-SXM4-80GB, 67.0 % of it in unet_forward." in text
    assert "did not finish" in text
    assert "One call could not be counted." in text


def test_a_run_without_problems_says_so() -> None:
    even = measured_profile(iterations=[iteration_on(CPU, text_ms=700, vae_ms=7_500) for _ in range(3)])
    assert "Findings Nothing stands out." in " ".join(words(report_html([even], ["a"])).split())


def test_a_profile_of_nothing_is_a_page_too() -> None:
    page = report_html([nothing()], ["a"])
    assert "Nothing was counted for this generation." in words(page)
    assert figures(page) == {}


def test_a_changed_size_is_at_the_top() -> None:
    changed = replace(stable_diffusion(), computed_size=ComputedSize(1024, 1024, 512, 512))
    page = report_html([changed], ["a"])
    assert sections(page)[0] == "What to know"
    assert "the pipeline computes at 1024x1024 and resizes to 512x512" in words(page)


def test_two_profiles_show_differences_of_the_request_first() -> None:
    page = report_html([stable_diffusion(), stable_diffusion(steps=10, unet_calls=11)], ["old", "new"])
    assert sections(page)[:3] == ["Can they be compared?", "Side by side", "Where the cost goes"]
    text = words(page)
    assert "One generation with new costs 0.387x what old costs: 10.15 TMACs instead of 26.23 TMACs." in text
    assert "Not the same request" in text
    assert "Counted" in sections(page)


def test_equal_profiles_say_that_they_cost_the_same() -> None:
    page = report_html([stable_diffusion(), stable_diffusion()], ["old", "new"])
    assert "new costs exactly as much as old: 26.23 TMACs for one generation." in words(page)


def test_many_profiles_say_which_costs_least_and_which_most() -> None:
    several = [stable_diffusion(), stable_diffusion(unet_calls=1), stable_diffusion(unet_calls=100)]
    text = words(report_html(several, ["a", "b", "c"]))
    assert "b costs least with 2.11 TMACs a generation, c most with 81.73 TMACs, 38.8x as much." in text


def test_images_of_a_comparison_are_in_the_page(tmp_path: Path) -> None:
    from diffprof.comparison import compare

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
    from diffprof.comparison import compare

    made = compare([stable_diffusion(), stable_diffusion()], ["a", "b"])
    lead = [Curve("a", [1, 2], [10, 20]), Curve("b", [2], [30])]
    point = [Curve("a", [1], [10]), Curve("b", [], [])]
    page = comparison_html(replace(made, growth=Growth(lead, point, ["b has no size"])))
    assert "How the cost grows" in sections(page)
    assert "b has no size" in words(page)
    assert 'aria-label="MACs over the pixels of the image"' in page
    assert 'aria-label="MACs over the denoising steps"' not in page
    assert "How the cost grows" not in sections(comparison_html(replace(made, growth=Growth(point, point))))


def test_hostile_names_end_no_script_and_begin_none() -> None:
    harmless = report_html([everything_measured()], ["a"])
    page = report_html([hostile_everywhere()], ["a"])
    for tag in ("<script", "</script", "<img"):
        assert page.count(tag) == harmless.count(tag), tag
    assert ENDING not in page


def test_the_page_allows_no_script_but_its_own_and_no_address() -> None:
    page = report_html([stable_diffusion()], ["a"])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy.group(1)
    assert not re.search(r'(?:src|href)="(?!#|data:)', re.sub(r"<script.*?</script>", "", page, flags=re.S))


def test_a_page_without_plotly_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[report\]'"):
        report_html([stable_diffusion()], ["a"])


@cache
def enormous() -> Profile:
    """Thousands of unlike modules, many steps, and iterations that were watched closely."""
    steps = 60
    whole = measured_profile(
        device=GPU,
        iterations=[iteration_on(GPU, steps=steps, caches=_asked(steps)) for _ in range(10)],
        steps=steps,
        system=[SystemPoint(number * 10**7, 50.0, 10**9, gpu_memory_bytes=10**9) for number in range(5_000)],
    )
    paths = [f"{number % 71}.{number % 73}.a{number}" for number in range(4_000)]
    modules = tuple(Module(path, f"Class{number}", number) for number, path in enumerate(paths))
    ran = tuple(ModuleWork(module.path, module.class_name, 1, Work(module.parameters)) for module in modules)
    first = next(call for call in whole.calls if call.component == "unet")
    cost = replace(first.cost, modules=ran)
    calls = tuple(replace(call, cost=cost) if call.component == "unet" else call for call in whole.calls)
    return replace(
        whole, components={**whole.components, "unet": replace(whole.components["unet"], modules=modules)}, calls=calls
    )


def _asked(steps: int) -> tuple[CacheEvent, ...]:
    return tuple(CacheEvent(f"cache {number}", True, 5, step, "unet") for step in range(steps) for number in range(5))


def test_the_page_of_an_enormous_run_stays_small() -> None:
    page = report_html([enormous()], ["a"])
    assert len(page.encode()) <= MOST_BYTES


def test_the_page_of_many_large_profiles_stays_small() -> None:
    assert len(report_html([enormous()] * 4, list("abcd")).encode()) <= MOST_BYTES
