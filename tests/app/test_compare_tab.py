"""The tab Compare in a real browser."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from playwright.sync_api import expect

import diffprof
from diffprof.render import numbers
from tests.app.conftest import OpenPage, Visitor

MODELS = ("sd-2.1-base", "sdxl")
"""With laws: the curves of one without are counted at many sizes."""


def choose_models(visitor: Visitor, *models: str) -> None:
    """Choose these instead of those that are chosen."""
    field = visitor.find("compare-models")
    box = field.locator("input")
    while chosen := field.locator(".token").count():
        box.press("Backspace")
        expect(field.locator(".token")).to_have_count(chosen - 1)
    for model in models:
        box.fill(model)
        box.press("Enter")
    box.press("Escape")
    box.press("Tab")


def upload(visitor: Visitor, file: Path) -> None:
    visitor.find("compare-files").locator("input[type=file]").set_input_files(file)
    visitor.sees("compare-files", file.name.partition(".")[0])


def test_models_and_saved_profiles_stand_side_by_side_and_what_cannot_be_compared_is_rejected_with_a_message(
    visit: OpenPage, models: Path, tmp_path: Path
) -> None:
    visitor = visit(tab="Compare")
    check_models(visitor)
    check_saved_profile(visitor, diffprof.profile(models / "tiny-sd", num_inference_steps=7), tmp_path)
    visitor.find("compare-files").get_by_label("Clear").click()
    check_rejections(visitor, tmp_path)


def check_models(visitor: Visitor) -> None:
    choose_models(visitor, *MODELS)
    visitor.press("compare-start")
    one, other = (diffprof.profile(model) for model in MODELS)
    difference = other.total.macs - one.total.macs
    visitor.sees("compare-answer", f"what {MODELS[0]} costs")
    visitor.sees("compare-tables", f"{numbers.exact(difference)}")
    for figure, text in (
        ("components", "unet"),
        ("parameters", "sdxl"),
        ("sizes", "pixels of the image"),
        ("steps", "denoising steps"),
    ):
        visitor.sees_chart(f"compare-{figure}", text)

    values = json.loads(visitor.download("compare-links", "Download JSON").read_text())
    assert [row["figures"]["macs"] for row in values["profiles"]] == [one.total.macs, other.total.macs]
    with visitor.download("compare-links", "Download CSV").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == list(MODELS)


def check_saved_profile(visitor: Visitor, profile: diffprof.Profile, folder: Path) -> None:
    """A saved profile is compared with a model, without the curves."""
    visitor.find("compare-curves").locator("input").uncheck()
    upload(visitor, Path(profile.save(folder / "seven.json.gz")))
    choose_models(visitor, "tiny-sd")
    visitor.type("compare-steps", "8")
    visitor.press("compare-start")
    visitor.sees("compare-answer", "tiny-sd against seven.json.gz")
    visitor.sees("compare-tables", f"-{numbers.exact(profile.steps.macs)}")
    expect(visitor.find("compare-sizes")).not_to_be_visible()


def check_rejections(visitor: Visitor, folder: Path) -> None:
    choose_models(visitor)
    visitor.press("compare-start")
    visitor.sees("compare-message", "Choose at least two models, or upload saved profiles.")
    expect(visitor.find("compare-answer")).to_have_text("")

    (folder / "broken.json").write_text("{'no': 'json'")
    upload(visitor, folder / "broken.json")
    choose_models(visitor, "dit-xl-2-256")
    visitor.press("compare-start")
    visitor.sees("compare-message", "Cannot read broken.json: it is not valid JSON")
    visitor.type("compare-steps", "many")
    visitor.press("compare-start")
    visitor.sees("compare-message", "Steps must be a whole number, not 'many'.")
