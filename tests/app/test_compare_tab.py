"""The tab Compare in a real browser."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from playwright.sync_api import expect

import diffprof
from diffprof.app.tabs.compare import EXAMPLE
from diffprof.render import numbers
from tests.app.conftest import OpenPage, Visitor

MODELS = ("sd-2.1-base", "sdxl")
"""With laws: the curves of one without are counted at many sizes."""


def choose_models(visitor: Visitor, *models: str) -> None:
    """Choose these instead of the two that are chosen as an example."""
    box = visitor.find("compare-models").locator("input")
    for _ in EXAMPLE:
        box.press("Backspace")
    for model in models:
        box.fill(model)
        box.press("Enter")
    box.press("Escape")
    box.press("Tab")


def test_two_models_stand_side_by_side(visit: OpenPage) -> None:
    visitor = visit()
    visitor.tab("Compare")
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
        expect(visitor.find(f"compare-{figure}").locator(".js-plotly-plot")).to_contain_text(text)

    values = json.loads(visitor.download("compare-links", "Download JSON").read_text())
    assert [row["figures"]["macs"] for row in values["profiles"]] == [one.total.macs, other.total.macs]
    with visitor.download("compare-links", "Download CSV").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == list(MODELS)


def test_saved_profiles_are_compared_with_a_model(visit: OpenPage, models: Path, tmp_path: Path) -> None:
    saved = diffprof.profile(models / "tiny-sd", num_inference_steps=7).save(tmp_path / "seven.json.gz")
    visitor = visit()
    visitor.tab("Compare")
    visitor.find("compare-curves").locator("input").uncheck()
    visitor.find("compare-files").locator("input[type=file]").set_input_files(saved)
    visitor.sees("compare-files", "seven")
    choose_models(visitor, "tiny-sd")
    visitor.type("compare-steps", "8")
    visitor.press("compare-start")
    visitor.sees("compare-answer", "tiny-sd against seven.json.gz")
    step = diffprof.load(saved).steps.macs
    visitor.sees("compare-tables", f"-{numbers.exact(step)}")
    expect(visitor.find("compare-sizes")).not_to_be_visible()


def test_profiles_that_cannot_be_compared_are_rejected_with_a_message(visit: OpenPage, tmp_path: Path) -> None:
    visitor = visit()
    visitor.tab("Compare")
    choose_models(visitor)
    visitor.press("compare-start")
    visitor.sees("compare-message", "Choose at least two models, or upload saved profiles.")

    (tmp_path / "broken.json").write_text("{'no': 'json'")
    visitor.find("compare-files").locator("input[type=file]").set_input_files(tmp_path / "broken.json")
    visitor.sees("compare-files", "broken")
    visitor.find("compare-models").locator("input").fill("dit-xl-2-256")
    visitor.find("compare-models").locator("input").press("Enter")
    visitor.find("compare-models").locator("input").press("Tab")
    visitor.press("compare-start")
    visitor.sees("compare-message", "Cannot read broken.json: it is not valid JSON")
    visitor.type("compare-steps", "many")
    visitor.press("compare-start")
    visitor.sees("compare-message", "Steps must be a whole number, not 'many'.")
