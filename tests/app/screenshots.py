"""Pictures of every tab, to be looked at.

python -m tests.app.screenshots DIR       # whole tabs, on both screens and in both themes
python -m tests.app.screenshots --docs    # those of docs/images
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

import diffprof
from diffprof.app.setup import Setup
from diffprof.record.history import History
from diffprof.render.exports.browser import find_browser
from tests.app.conftest import QUEUE_WATCH, Visitor, served
from tests.browsers import DESKTOP, TELEPHONE, Visit

DOCS = Path(__file__).parents[2] / "docs" / "images"
HEIGHTS = {DESKTOP: 1000, TELEPHONE: 844}
LOOKS = [(width, theme) for width in HEIGHTS for theme in ("light", "dark")]


def profile(visitor: Visitor) -> None:
    visitor.sees("profile-totals", "exactly")
    expect(visitor.find("profile-components").locator(".js-plotly-plot")).to_be_visible()


def generate(visitor: Visitor) -> None:
    visitor.tab("Generate")
    visitor.type("generate-seed", "42")
    visitor.press("generate-start")
    visitor.sees("generate-message", "Seed 42.")
    expect(visitor.find("generate-memory").locator(".js-plotly-plot")).to_be_visible()


def compare(visitor: Visitor) -> None:
    visitor.tab("Compare")
    visitor.press("compare-start")
    expect(visitor.find("compare-steps").locator(".js-plotly-plot")).to_be_visible()


def files(visitor: Visitor) -> None:
    visitor.tab("Files")
    with tempfile.TemporaryDirectory() as folder:
        saved = diffprof.profile("flux.1-dev").save(Path(folder) / "flux.json")
        visitor.find("files-files").locator("input[type=file]").set_input_files(saved)
        frame = visitor.page.frame_locator("#files-page iframe")
        expect(frame.locator(".js-plotly-plot").first).to_be_visible()


def history(visitor: Visitor) -> None:
    visitor.tab("History")
    visitor.find("history-list").locator("tr[data-run]").first.click()
    expect(visitor.find("history-tree").locator(".js-plotly-plot")).to_be_visible()


TABS = {"profile": profile, "generate": generate, "compare": compare, "files": files, "history": history}


def taken(page: Page, folder: Path) -> None:
    visitor = Visitor(Visit(page))
    for name, go in TABS.items():
        look(page, DESKTOP, "light")
        go(visitor)
        page.locator("h1").click()
        for width, theme in LOOKS[:1] if folder == DOCS else LOOKS:
            look(page, width, theme)
            page.wait_for_timeout(1000)  # figures are drawn anew when the window changes
            file = f"app-{name}.png" if folder == DOCS else f"app-{name}-{width}-{theme}.png"
            page.screenshot(path=folder / file, full_page=folder != DOCS)


def look(page: Page, width: int, theme: Any) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    page.emulate_media(color_scheme=theme)


def main(folder: Path) -> None:
    expect.set_options(timeout=300_000)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"DIFFPROF_HISTORY": f"{scratch}/history.sqlite", "DIFFPROF_OUTPUT_DIR": f"{scratch}/pictures"}
        for steps in (20, 50):
            History().add(diffprof.profile("sdxl", num_inference_steps=steps), "profile")
        with served(Setup(port=0)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(60_000)
            page.add_init_script(QUEUE_WATCH)
            page.goto(f"{address}/?model=flux.1-dev,sdxl,sd3.5-medium&gpu=rtx-4090")
            taken(page, folder)
            browser.close()


if __name__ == "__main__":
    main(DOCS if sys.argv[1] == "--docs" else Path(sys.argv[1]))
