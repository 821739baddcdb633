"""The tab Profile in a real browser."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from playwright.sync_api import expect

import diffprof
from diffprof.render import numbers
from tests.app.conftest import OpenPage, Visitor

LIGHT_MODEL = "dit-xl-2-256"


def open_model(visitor: Visitor, model: str) -> None:
    visitor.choose("profile-model", model)
    visitor.sees("profile-totals", Path(model).name)


def test_the_sliders_change_the_numbers_to_the_exact_ones_and_what_is_downloaded_is_what_is_shown(
    visit: OpenPage,
) -> None:
    visitor = visit()
    open_model(visitor, LIGHT_MODEL)
    own = diffprof.profile(LIGHT_MODEL)
    visitor.sees("profile-totals", f"exactly {numbers.exact(own.total.macs)}")

    slider = visitor.find("profile-num_inference_steps").get_by_role("slider")
    expect(slider).to_be_enabled()
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")

    # What means nothing to this model cannot be moved.
    visitor.sees("profile-width", "not used by this model")
    expect(visitor.find("profile-width").get_by_role("slider")).to_be_disabled()
    moved = diffprof.profile(LIGHT_MODEL, num_inference_steps=28)
    visitor.sees("profile-totals", f"exactly {numbers.exact(moved.total.macs)}")
    visitor.sees("profile-tables", numbers.short(moved.components["transformer"].macs))
    assert moved.total.macs != own.total.macs
    check_downloads(visitor, moved)


def test_leaving_the_list_of_models_changes_nothing(visit: OpenPage) -> None:
    visitor = visit()
    open_model(visitor, LIGHT_MODEL)
    slider = visitor.find("profile-num_inference_steps").get_by_role("slider")
    expect(slider).to_be_enabled()
    slider.press("ArrowRight")
    visitor.sees("profile-totals", "26 steps")
    for name in ("profile-model", "profile-accelerator", "profile-beside"):
        asked = len(visitor.window.all_requests)
        box = visitor.find(name).locator("input").first
        box.focus()
        box.blur()
        visitor.rests()
        if name == "profile-model":  # the browser did ask, so that the answer was that there is nothing to do
            assert any("/queue/join" in url for url in visitor.window.all_requests[asked:])
    expect(slider).to_have_value("26")
    expect(slider).to_be_enabled()
    visitor.sees("profile-totals", "26 steps")


def test_memory_and_time_follow_the_accelerator_and_the_sliders(visit: OpenPage) -> None:
    visitor = visit()
    open_model(visitor, LIGHT_MODEL)
    own = diffprof.profile(LIGHT_MODEL)
    visitor.choose("profile-accelerator", "t4")
    visitor.sees("profile-hardware", "On t4")
    visitor.sees("profile-hardware", numbers.gibibytes(diffprof.fit(own, gpu="t4").peak.device_bytes, brief=True))
    time = diffprof.predict(own, gpu="t4").accelerators["t4"].total_seconds
    visitor.sees("profile-hardware", numbers.estimate(time))
    box = visitor.find("profile-num_inference_steps").get_by_role("spinbutton")
    box.fill("50")
    box.press("Tab")
    longer = diffprof.predict(diffprof.profile(LIGHT_MODEL, num_inference_steps=50), gpu="t4").accelerators["t4"]
    assert numbers.estimate(longer.total_seconds) != numbers.estimate(time)
    visitor.sees("profile-hardware", numbers.estimate(longer.total_seconds))


def test_size_batch_and_guidance_are_counted_as_they_are_set(visit: OpenPage, models: Path) -> None:
    visitor = visit()
    open_model(visitor, "tiny-sd")
    for name, value in (("width", "64"), ("num_images_per_prompt", "3"), ("guidance_scale", "1")):
        box = visitor.find(f"profile-{name}").get_by_role("spinbutton")
        box.fill(value)
        box.press("Tab")
    counted = diffprof.profile(
        models / "tiny-sd", width=64, height=32, num_images_per_prompt=3, guidance_scale=1, num_inference_steps=50
    )
    visitor.sees("profile-totals", f"exactly {numbers.exact(counted.total.macs)}")
    visitor.sees("profile-totals", "guidance 1 · 3 per prompt")


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


MARKUP = "<img src=x onerror='window.hit=1'>${window.hit=2}{{window.hit=3}}"


def test_a_model_that_may_not_be_opened_is_rejected_with_a_message_in_which_what_was_typed_is_text(
    visit: OpenPage,
) -> None:
    visitor = visit()
    for typed, said in (
        ("sdlx", "Unknown model 'sdlx'; did you mean sdxl"),
        ("/etc", "Unknown model '/etc'; diffprof models lists the known ones. Other folders"),
        ("../../etc", "Unknown model '../../etc'"),
        ("somebody/something", "only if the page was started with --allow-paths"),
        ("<script>alert(1)</script>", "Unknown model '<script>alert(1)</script>'"),
        (MARKUP, MARKUP),
    ):
        visitor.choose("profile-model", typed)
        visitor.sees("profile-message", said)
    assert visitor.page.evaluate("window.hit") is None
    expect(visitor.find("profile-message").locator("img")).to_have_count(0)
    open_model(visitor, LIGHT_MODEL)
    expect(visitor.find("profile-message")).not_to_contain_text("Unknown")


def test_the_charts_follow_the_sliders_and_a_refused_size_leaves_no_other_result(visit: OpenPage) -> None:
    visitor = visit()
    open_model(visitor, "tiny-sd")
    for figure, text in (("components", "unet"), ("kinds", "convolution"), ("attention", "x 77 tokens")):
        expect(visitor.find(f"profile-{figure}").locator(".js-plotly-plot")).to_contain_text(text)
    box = visitor.find("profile-width").get_by_role("spinbutton")
    box.fill("65")
    box.press("Tab")
    visitor.sees("profile-message", "divisible by 8")
    expect(visitor.find("profile-totals")).not_to_contain_text("MACs")
    expect(visitor.find("profile-components")).not_to_be_visible()
    box.fill("64")
    box.press("Tab")
    visitor.sees("profile-totals", "64 wide x 32 high")
    expect(visitor.find("profile-attention").locator(".js-plotly-plot")).to_contain_text("512 x 77 tokens")


def test_a_link_opens_its_state_and_the_address_follows(visit: OpenPage, address: str) -> None:
    visitor = visit(at=f"{address}/?model=sdxl,flux.1-schnell&gpu=l4&height=768&steps=3")
    visitor.sees("profile-totals", "sdxl · 1024 wide x 768 high · 3 steps")
    visitor.sees("profile-hardware", "On l4")
    expect(visitor.find("profile-hardware").locator(".memory-bar")).to_be_visible()
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


def test_what_a_link_asks_for_and_the_model_does_not_take_is_said(visit: OpenPage, address: str) -> None:
    visitor = visit(at=f"{address}/?model=sdxl&frames=9", text="")
    visitor.sees("profile-message", "The model sdxl takes no frames.")
    visitor.choose("profile-model", "sd3.5-medium")
    visitor.sees("profile-totals", "sd3.5-medium")
