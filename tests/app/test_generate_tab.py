"""The tab Generate in a real browser, with the model on board and a small one."""

from __future__ import annotations

import io
import threading
import urllib.request
from pathlib import Path

import numpy
import pytest
from PIL import Image
from playwright.sync_api import expect

import diffprof
from diffprof import config
from diffprof.app.setup import Setup
from diffprof.inference import generate_image
from tests.app.conftest import PATIENCE_MS, OpenPage, Visitor, served

LONG = "200"
"""Steps that take far longer than it takes to stop them."""


def shown_image(visitor: Visitor) -> Image.Image:
    """What the visitor sees, as it was served."""
    shown = visitor.find("generate-picture").locator("img")
    expect(shown).to_be_visible()
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


def test_enter_in_the_prompt_shows_the_image_of_the_bundled_model(visit: OpenPage, tmp_path: Path) -> None:
    visitor = visit()
    visitor.tab("Generate")
    fill(visitor, seed="7", steps="3", prompt="a red circle on a blue background")
    visitor.find("generate-prompt").locator("textarea").press("Enter")
    visitor.sees("generate-message", "Seed 7. Saved as shapes_seed7")
    made = generate_image("shapes", "a red circle on a blue background", None, 3, seed=7, output_dir=tmp_path)
    assert numpy.array_equal(numpy.asarray(shown_image(visitor)), numpy.asarray(made.image.convert("RGB")))


def test_a_generation_shows_its_times_memory_and_findings(visit: OpenPage) -> None:
    visitor = visit()
    visitor.tab("Generate")
    submit(visitor, model="tiny-sd", steps="4", seed="9223372036854775807")
    visitor.sees("generate-message", "Seed 9223372036854775807.")
    visitor.sees("generate-times", "unet_forward")
    visitor.sees("generate-times", "highest RSS")
    visitor.sees("generate-findings", "Findings")
    for figure in ("step-times", "timeline", "memory"):
        expect(visitor.find(f"generate-{figure}").locator(".js-plotly-plot")).to_be_visible()
    saved = diffprof.load(visitor.download("generate-links", "Download JSON"))
    assert saved.measured is not None
    assert saved.steps.count == 4
    assert seed_of(saved) == 9223372036854775807


def test_a_video_can_be_played(visit: OpenPage) -> None:
    visitor = visit()
    visitor.tab("Generate")
    submit(visitor, model="tiny-film", steps="2", seed="5", size="32x32")
    visitor.sees("generate-message", "Seed 5.")
    player = visitor.find("generate-film").locator("video")
    expect(player).to_be_visible()
    visitor.page.wait_for_function("one => one.videoWidth === 32", arg=player.element_handle())
    expect(visitor.find("generate-picture")).not_to_be_visible()


def seed_of(profile: diffprof.Profile) -> int:
    """The seed that the pipeline was called with, from what the profile says of its generator."""
    return int(str(profile.request.arguments["generator"]).rpartition(" ")[2])


def test_wrong_input_is_rejected_with_a_message_and_the_page_stays_usable(
    visit: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = visit()
    visitor.tab("Generate")
    submit(visitor, model="tiny-sd", steps="2", prompt="   ")
    visitor.sees("generate-message", "The prompt is empty")
    submit(visitor, prompt="a cat", size="33x32")
    visitor.sees("generate-message", "the nearest size that works is 32x32")
    submit(visitor, size="huge")
    visitor.sees("generate-message", "There is no size 'huge'")
    submit(visitor, size="32x32", seed="-1")
    visitor.sees("generate-message", "Seed must be a whole number from 0 to")
    submit(visitor, seed="lucky")
    visitor.sees("generate-message", "Seed must be a whole number, not 'lucky'.")
    submit(visitor, seed="1", model="no-such-model")
    visitor.sees("generate-message", "Unknown model 'no-such-model'")
    visitor.page.get_by_text("More", exact=True).click()
    visitor.choose("generate-scheduler", "eular")
    submit(visitor, model="tiny-sd")
    visitor.sees("generate-message", "EulerDiscreteScheduler")
    visitor.choose("generate-scheduler", "euler")
    (tmp_path / "taken").write_text("a file")
    with monkeypatch.context() as patch:
        patch.setenv("DIFFPROF_OUTPUT_DIR", str(tmp_path / "taken"))
        submit(visitor)
        visitor.sees("generate-message", "Cannot write into")
    submit(visitor)
    visitor.sees("generate-message", "Seed 1.")
    assert shown_image(visitor).size == (32, 32)


def pictures_made() -> list[str]:
    return sorted(path.name for path in Path(config.OUTPUT_DIR).glob("*.png"))


def test_running_and_waiting_work_can_be_stopped(visit: OpenPage) -> None:
    before = pictures_made()
    first, second = visit(), visit()
    for visitor, seed, steps in ((first, "31", LONG), (second, "41", "2")):
        visitor.tab("Generate")
        fill(visitor, model="tiny-sd", steps=steps, seed=seed, size="128x128")
    first.press("generate-start")
    first.sees("generate-message", "last step", to_come=True)
    second.press("generate-start")
    second.sees("generate-message", "queue", to_come=True)
    second.press("generate-stop")
    second.sees("generate-message", "Stopped.", to_come=True)
    expect(second.find("generate-stop")).not_to_be_visible()
    first.press("generate-stop")
    first.sees("generate-message", "Stopped.", to_come=True)
    for thread in threading.enumerate():
        if thread.name == "diffprof-work":
            thread.join(timeout=PATIENCE_MS / 1000)
            assert not thread.is_alive()
    assert pictures_made() == before
    submit(first, steps="2", size="32x32")
    first.sees("generate-message", "Seed 31.")
    assert [name for name in pictures_made() if name not in before] == ["tiny-sd_seed31.png"]


def test_work_ends_when_the_visitor_leaves(visit: OpenPage) -> None:
    before = pictures_made()
    visitor = visit()
    visitor.tab("Generate")
    submit(visitor, model="tiny-sd", steps=LONG, seed="51", size="128x128")
    visitor.sees("generate-message", "last step", to_come=True)
    working = [thread for thread in threading.enumerate() if thread.name == "diffprof-work"]
    assert working
    visitor.page.close()
    for thread in working:
        thread.join(timeout=PATIENCE_MS / 1000)
        assert not thread.is_alive()
    assert pictures_made() == before


def test_two_visitors_at_once_see_only_their_own_work(visit: OpenPage) -> None:
    visitors = [visit(), visit()]
    for number, visitor in enumerate(visitors, 1):
        visitor.tab("Generate")
        submit(visitor, model="tiny-sd", steps="2", seed=str(number), prompt=f"wish number {number}")
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


def test_a_generation_is_measured_as_often_as_the_page_was_started_for(
    visit: OpenPage, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(Setup(port=0, profiling=False, profiling_iterations=3)) as at:
        visitor = visit(at=at)
        visitor.tab("Generate")
        submit(visitor, model="tiny-sd", steps="2", seed="5")
        visitor.sees("generate-message", "Seed 5.")
        shown_image(visitor)
        expect(visitor.find("generate-totals")).not_to_contain_text("MACs")

        visitor.page.get_by_text("More", exact=True).click()
        visitor.find("generate-profiled").locator("input").check()
        submit(visitor)
        visitor.sees("generate-times", "median of 3")
        visitor.sees("generate-totals", "tiny-sd · 32 x 32")
    assert {file.name for file in (tmp_path / "profiling_results").iterdir()} == {
        "profiling_report.json", "memory_log.json", "timing_summary.txt", "trace.json",
    }  # fmt: skip
