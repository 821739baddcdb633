"""The tab Profile: in a real browser, and its handlers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import diffprof
from diffprof.app.session import Session
from diffprof.app.setup import Setup
from diffprof.app.tabs.profile import ProfileTab
from diffprof.render import charts, numbers
from tests.app.conftest import OpenPage, Visitor, build_tab, last_updates

LIGHT_MODEL = "dit-xl-2-256"


def open_model(visitor: Visitor, model: str) -> None:
    visitor.choose("profile-model", model)
    visitor.sees("profile-totals", Path(model).name)


def test_the_numbers_follow_the_sliders_and_the_accelerator_and_leaving_a_list_changes_nothing(visit: OpenPage) -> None:
    visitor = visit(f"?model={LIGHT_MODEL}")
    own, moved = diffprof.profile(LIGHT_MODEL), diffprof.profile(LIGHT_MODEL, num_inference_steps=28)
    assert moved.total.macs != own.total.macs
    visitor.sees("profile-totals", f"exactly {numbers.exact(own.total.macs)}")
    # What means nothing to this model cannot be moved.
    visitor.sees("profile-width", "not used by this model")
    expect(visitor.find("profile-width").get_by_role("slider")).to_be_disabled()

    slider = visitor.find("profile-num_inference_steps").get_by_role("slider")
    expect(slider).to_be_enabled()
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    visitor.sees("profile-totals", f"exactly {numbers.exact(moved.total.macs)}")
    visitor.sees("profile-tables", numbers.short(moved.components["transformer"].macs))
    check_downloads(visitor, moved)
    leave_lists(visitor)
    expect(slider).to_have_value("28")
    expect(slider).to_be_enabled()
    visitor.sees("profile-totals", "28 steps")
    check_accelerator(visitor, moved)


def leave_lists(visitor: Visitor) -> None:
    for name in ("profile-model", "profile-accelerator", "profile-beside"):
        asked = len(visitor.window.all_requests)
        box = visitor.find(name).locator("input").first
        box.focus()
        box.blur()
        visitor.rests()
        if name == "profile-model":  # the browser did ask, so that the answer was that there is nothing to do
            assert any("/queue/join" in url for url in visitor.window.all_requests[asked:])


def check_accelerator(visitor: Visitor, shown: diffprof.Profile) -> None:
    """Memory and time are those of the accelerator, also when the steps change after it was chosen."""
    visitor.choose("profile-accelerator", "t4")
    visitor.sees("profile-hardware", "On t4")
    visitor.sees("profile-hardware", numbers.gibibytes(diffprof.fit(shown, gpu="t4").peak.device_bytes, brief=True))
    time = diffprof.predict(shown, gpu="t4").accelerators["t4"].total_seconds
    visitor.sees("profile-hardware", numbers.estimate(time))
    set_number(visitor, "num_inference_steps", "50")
    longer = diffprof.predict(diffprof.profile(LIGHT_MODEL, num_inference_steps=50), gpu="t4").accelerators["t4"]
    assert numbers.estimate(longer.total_seconds) != numbers.estimate(time)
    visitor.sees("profile-hardware", numbers.estimate(longer.total_seconds))


def set_number(visitor: Visitor, name: str, value: str) -> None:
    """Type into the box of a slider."""
    box = visitor.find(f"profile-{name}").get_by_role("spinbutton")
    box.fill(value)
    box.press("Tab")


def check_downloads(visitor: Visitor, counted: diffprof.Profile) -> None:
    saved = visitor.download("profile-links", "Download JSON")
    assert diffprof.load(saved).total == counted.total
    assert json.loads(saved.read_text())["total"]["macs"] == counted.total.macs

    with visitor.download("profile-links", "Download CSV").open(newline="") as file:
        rows = {row["component"]: row for row in csv.DictReader(file)}
    assert int(rows["transformer"]["macs"]) == counted.components["transformer"].macs

    report = visitor.download("profile-links", "Download report").read_text()
    assert report.startswith("<!DOCTYPE html>")
    assert numbers.exact(counted.total.macs) in report


MARKUP = "<script>window.hit=4</script><img src=x onerror='window.hit=1'>${window.hit=2}{{window.hit=3}}"


def test_errors_become_messages_and_then_charts_and_numbers_are_those_of_the_model_and_its_sliders(
    visit: OpenPage, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = visit(f"?model={LIGHT_MODEL}")
    check_errors(visitor, monkeypatch)
    check_charts_and_sizes(visitor, models)


def check_errors(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed is text in the message of an error, and after it another model can be opened."""
    visitor.choose("profile-model", "sdlx")
    visitor.sees("profile-message", "Unknown model 'sdlx'; did you mean sdxl")
    visitor.choose("profile-model", MARKUP)
    visitor.sees("profile-message", MARKUP)
    assert visitor.page.evaluate("window.hit") is None
    expect(visitor.find("profile-message").locator("img, script")).to_have_count(0)
    with monkeypatch.context() as patch:
        patch.setattr(charts, "components_chart", lambda profile: 1 // 0)
        visitor.choose("profile-model", LIGHT_MODEL)
        visitor.sees("profile-message", "This is a bug in diffprof (ZeroDivisionError)")
    open_model(visitor, "tiny-sd")
    expect(visitor.find("profile-message")).to_have_text("")


def check_charts_and_sizes(visitor: Visitor, models: Path) -> None:
    """Charts, size, batch and guidance are as they are set, and a refused size leaves no other result."""
    for figure, text in (("components", "unet"), ("kinds", "convolution"), ("attention", "x 77 tokens")):
        visitor.sees_chart(f"profile-{figure}", text)
    set_number(visitor, "width", "65")
    visitor.sees("profile-message", "divisible by 8")
    expect(visitor.find("profile-totals")).not_to_contain_text("MACs")
    expect(visitor.find("profile-components")).not_to_be_visible()
    set_number(visitor, "width", "64")
    visitor.sees("profile-totals", "64 wide x 32 high")
    visitor.sees_chart("profile-attention", "512 x 77 tokens")
    set_number(visitor, "num_images_per_prompt", "3")
    set_number(visitor, "guidance_scale", "1")
    counted = diffprof.profile(
        models / "tiny-sd", width=64, height=32, num_images_per_prompt=3, guidance_scale=1, num_inference_steps=50
    )
    visitor.sees("profile-totals", f"exactly {numbers.exact(counted.total.macs)}")
    visitor.sees("profile-totals", "guidance 1 · 3 per prompt")


def test_a_link_opens_its_state_and_the_address_follows(visit: OpenPage, address: str) -> None:
    visitor = visit("?model=sdxl,flux.1-schnell&gpu=l4&height=768&steps=3")
    visitor.sees("profile-totals", "sdxl · 1024 wide x 768 high · 3 steps")
    visitor.sees("profile-hardware", "On l4")
    visitor.find("profile-hardware").locator(".memory-bar").wait_for()
    both = [diffprof.profile(model, height=768, num_inference_steps=3) for model in ("sdxl", "flux.1-schnell")]
    for profile in both:
        visitor.sees("profile-table", numbers.short(profile.total.macs, brief=True))
    expect(visitor.find("profile-stop")).not_to_be_visible()

    slider = visitor.find("profile-num_inference_steps").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    visitor.sees("profile-totals", "4 steps")
    assert visitor.page.url == f"{address}/?model=sdxl,flux.1-schnell&gpu=l4&height=768&steps=4"

    visitor.find("profile-table").get_by_role("link", name="flux.1-schnell").click()
    visitor.sees("profile-totals", "flux.1-schnell · 1024 wide x 768 high · 4 steps")


def test_what_a_link_asks_for_and_the_model_does_not_take_is_said(models: Path) -> None:
    tab = build_tab(ProfileTab, Setup())
    shown = last_updates(tab.open_address(Session(), "?model=sdxl&frames=9"))
    assert "The model sdxl takes no frames." in shown[tab.message]
    assert shown[tab.totals] == ""


def test_paths_are_opened_where_the_page_was_started_for_it(models: Path) -> None:
    tab = build_tab(ProfileTab, Setup(allow_paths=True))

    def open_path(path: str) -> dict[Any, Any]:
        return last_updates(tab.open_model(Session(), None, None, path, [], "t4"))

    shown = open_path(f"{models}/../{models.name}/tiny-sd")
    assert "tiny-sd · 32 x 32" in shown[tab.totals]
    assert "There is no folder /nowhere/at/all" in open_path("/nowhere/at/all")[tab.message]
