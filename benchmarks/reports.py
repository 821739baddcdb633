"""How soon a report is there: ``python -m benchmarks.reports`` prints seconds and bytes as JSON.

The report of a whole model, opened from disk by the Chromium that is installed, in a window without a cache. It is
there when its first figure is drawn. The best of several times counts: what else the machine does can only add to it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import diffprof
from diffprof.comparison.views.report import report_html
from diffprof.render.exports.browser import find_browser

MODEL = "sdxl"
REPEATS = 7


def main() -> None:
    profile = diffprof.profile(MODEL)
    began = time.perf_counter()
    html = report_html([profile], [MODEL])
    made = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        page.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        opened = min(_opened(browser, page.as_uri()) for _ in range(REPEATS))
        browser.close()
    sys.stdout.write(json.dumps({"made": made, "opened": opened, "bytes": len(html.encode())}))


def _opened(browser: Browser, address: str) -> float:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address)
    page.locator(".main-svg").first.wait_for()
    taken = time.perf_counter() - began
    context.close()
    return taken


if __name__ == "__main__":
    main()
