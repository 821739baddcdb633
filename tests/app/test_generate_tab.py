"""The tab Generate: in a real browser, with the model on board and a small one, and its handlers."""

from __future__ import annotations

import io
import threading
import urllib.request
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image
from playwright.sync_api import expect

import diffprof
from diffprof import config
from diffprof.app.generation_job import MODEL_DEFAULT
from diffprof.app.session import Session
from diffprof.app.setup import Setup
from diffprof.app.tabs.generate import GenerateTab
from diffprof.inference import generate_image
from tests.app.conftest import PATIENCE_MS, OpenPage, Visitor, build_tab, last_updates

LONG = "200"
"""Steps that take far longer than it takes to stop them."""


def shown_image(visitor: Visitor) -> Image.Image:
    """What the visitor sees, as it was served."""
    shown = visitor.find("generate-picture").locator("img")
    shown.wait_for()
    with urllib.request.urlopen(shown.get_attribute("src") or "") as served_file:
        return Image.open(io.BytesIO(served_file.read())).convert("RGB")


def submit(visitor: Visitor, **typed: str) -> None:
    """Fill the form in and press the button."""
    fill(visitor, **typed)
    visitor.press("generate-start")


def fill(visitor: Visitor, **typed: str) -> None:
    for name, value in typed.items():
        if name in ("model", "size"):
            visitor.choose(f"generate-{name}", value)
        else:
            visitor.type(f"generate-{name}", value)


def test_images_and_videos_are_shown_with_what_they_took_and_wrong_input_is_rejected_with_a_message(
    visit: OpenPage, tmp_path: Path
) -> None:
    visitor = visit(tab="Generate")
    check_rejections(visitor)
    check_bundled_model(visitor, tmp_path)
    check_measurements(visitor)
    check_video(visitor)


def check_rejections(visitor: Visitor) -> None:
    submit(visitor, prompt="   ")
    visitor.sees("generate-message", "The prompt is empty")
    submit(visitor, model="tiny-sd", prompt="a red circle on a blue background", size="33x32")
    visitor.sees("generate-message", "the nearest size that works is 32x32")
    visitor.page.get_by_text("More", exact=True).click()
    visitor.choose("generate-scheduler", "eular")
    submit(visitor, size=MODEL_DEFAULT)
    visitor.sees("generate-message", "EulerDiscreteScheduler")
    visitor.choose("generate-scheduler", MODEL_DEFAULT)


def check_bundled_model(visitor: Visitor, folder: Path) -> None:
    """Enter in the prompt shows the image that Python makes; unless it is to be measured, without a profile."""
    visitor.find("generate-profiled").locator("input").uncheck()
    fill(visitor, model="shapes", seed="7", steps="3")
    visitor.find("generate-prompt").locator("textarea").press("Enter")
    visitor.sees("generate-message", "Seed 7. Saved as shapes_seed7")
    made = generate_image("shapes", "a red circle on a blue background", None, 3, seed=7, output_dir=folder)
    assert numpy.array_equal(numpy.asarray(shown_image(visitor)), numpy.asarray(made.image.convert("RGB")))
    expect(visitor.find("generate-totals")).not_to_contain_text("MACs")


def check_measurements(visitor: Visitor) -> None:
    """A generation shows its times, memory and findings."""
    visitor.find("generate-profiled").locator("input").check()
    submit(visitor, model="tiny-sd", steps="4", seed="9223372036854775807")
    visitor.sees("generate-message", "Seed 9223372036854775807.")
    visitor.sees("generate-times", "unet_forward")
    visitor.sees("generate-times", "highest RSS")
    visitor.sees("generate-findings", "Findings")
    for figure in ("step-times", "timeline", "memory"):
        visitor.sees_chart(f"generate-{figure}")
    assert shown_image(visitor).size == (32, 32)
    saved = diffprof.load(visitor.download("generate-links", "Download JSON"))
    assert saved.measured is not None
    assert saved.steps.count == 4
    assert seed_of(saved) == 9223372036854775807


def seed_of(profile: diffprof.Profile) -> int:
    """The seed that the pipeline was called with, from what the profile says of its generator."""
    return int(str(profile.request.arguments["generator"]).rpartition(" ")[2])


def check_video(visitor: Visitor) -> None:
    """A video can be played."""
    submit(visitor, model="tiny-film", steps="2", seed="5", size="32x32")
    visitor.sees("generate-message", "Seed 5.")
    player = visitor.find("generate-film").locator("video")
    player.wait_for()
    visitor.page.wait_for_function("one => one.videoWidth === 32", arg=player.element_handle())
    expect(visitor.find("generate-picture")).not_to_be_visible()


FORM = {
    "prompt": "a cat", "negative_prompt": "", "model": "tiny-sd", "size": "32x32", "steps": "2", "guidance": "",
    "seed": "1", "scheduler": MODEL_DEFAULT, "profiled": False,
}  # fmt: skip


def generate(tab: GenerateTab, **changed: Any) -> dict[Any, Any]:
    """What the tab shows after the form was sent."""
    return last_updates(tab.generate(Session(), *{**FORM, **changed}.values()))


def test_wrong_input_is_rejected_with_a_message_and_the_next_generation_works(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = build_tab(GenerateTab, Setup())
    for changed, message in (
        ({"size": "huge"}, "There is no size &#x27;huge&#x27;"),
        ({"seed": "-1"}, "Seed must be a whole number from 0 to"),
        ({"seed": "lucky"}, "Seed must be a whole number, not &#x27;lucky&#x27;."),
        ({"model": "no-such-model"}, "Unknown model &#x27;no-such-model&#x27;"),
    ):
        shown = generate(tab, **changed)
        assert message in shown[tab.message]
        assert shown[tab.totals] == ""
    (tmp_path / "taken").write_text("a file")
    with monkeypatch.context() as patch:
        patch.setenv("DIFFPROF_OUTPUT_DIR", str(tmp_path / "taken"))
        assert "Cannot write into" in generate(tab)[tab.message]
    assert "Seed 1." in generate(tab)[tab.message]


def test_a_generation_is_measured_as_often_as_the_page_was_started_for(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tab = build_tab(GenerateTab, Setup(profiling=False, profiling_iterations=3))
    assert tab.profiled.value is False
    assert generate(tab)[tab.totals] == ""
    shown = generate(tab, profiled=True)
    assert "median of 3" in shown[tab.times]
    assert "tiny-sd · 32 x 32" in shown[tab.totals]
    assert {file.name for file in (tmp_path / "profiling_results").iterdir()} == {
        "profiling_report.json", "memory_log.json", "timing_summary.txt", "trace.json",
    }  # fmt: skip


def pictures_made() -> list[str]:
    return sorted(path.name for path in Path(config.OUTPUT_DIR).glob("*.png"))


def test_visitors_see_only_their_own_work_can_stop_it_and_end_it_by_leaving(visit: OpenPage) -> None:
    first, second = visit(tab="Generate"), visit(tab="Generate")
    check_stopping(first, second)
    check_separation(first, second)
    check_leaving(first)


def check_stopping(first: Visitor, second: Visitor) -> None:
    """Running work and waiting work can be stopped, and the next one begins."""
    before = pictures_made()
    for visitor, seed, steps in ((first, "31", LONG), (second, "41", "2")):
        fill(visitor, model="tiny-sd", steps=steps, seed=seed, size="128x128")
    first.press("generate-start")
    first.sees("generate-message", "last step", to_come=True)
    second.press("generate-start")
    second.sees("generate-message", "queue", to_come=True)
    second.press("generate-stop")
    second.sees("generate-message", "Stopped.", to_come=True)
    second.find("generate-stop").wait_for(state="hidden")
    first.press("generate-stop")
    first.sees("generate-message", "Stopped.", to_come=True)
    wait_for_end(threads_at_work())
    assert pictures_made() == before
    submit(first, steps="2", size="32x32")
    first.sees("generate-message", "Seed 31.")
    assert [name for name in pictures_made() if name not in before] == ["tiny-sd_seed31.png"]


def threads_at_work() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "diffprof-work"]


def wait_for_end(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(timeout=PATIENCE_MS / 1000)
        assert not thread.is_alive()


def check_separation(*visitors: Visitor) -> None:
    """Two visitors who generate at once see their own image, and their own run in the history."""
    for number, visitor in enumerate(visitors, 1):
        submit(visitor, steps="2", seed=str(number), size="32x32", prompt=f"wish number {number}")
    pictures = []
    for number, visitor in enumerate(visitors, 1):
        visitor.sees("generate-message", f"Seed {number}.")
        pictures.append(numpy.asarray(shown_image(visitor)))
    assert not numpy.array_equal(*pictures)
    for number, visitor in enumerate(visitors, 1):
        visitor.tab("History")
        visitor.type("history-text", f"wish number {number}")
        visitor.sees("history-list", "tiny-sd")
        visitor.type("history-text", f"wish number {3 - number}")
        expect(visitor.find("history-list")).not_to_contain_text("tiny-sd")


def check_leaving(visitor: Visitor) -> None:
    """Work ends when its visitor leaves."""
    visitor.rests()
    visitor.tab("Generate")
    before = pictures_made()
    submit(visitor, steps=LONG, seed="51", size="128x128")
    visitor.sees("generate-message", "last step", to_come=True)
    working = threads_at_work()
    assert working
    visitor.page.close()
    wait_for_end(working)
    assert pictures_made() == before
