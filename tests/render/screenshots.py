"""Pictures of every page that is written to a file, to be looked at: on a laptop in light, on a phone in dark.

python -m tests.render.screenshots DIR [NAME...]
python -m tests.render.screenshots --docs [NAME...]    # those of docs/images
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import diffprof
from diffprof.record.profile import Profile
from diffprof.render.exports.browser import find_browser

DOCS = Path(__file__).parents[2] / "docs" / "images"
LAPTOP, PHONE = (1440, 1000), (390, 1000)
GAP = 24
TRACE = Path(os.environ.get("DIFFPROF_EXAMPLE_TRACE", "trace.json.gz"))
"""A trace is too large for the repository: any one of torch.profiler will do."""


def measured(**arguments: int) -> Profile:
    from diffprof.inference import generate_image

    with tempfile.TemporaryDirectory() as folder:
        made = generate_image(prompt="a red circle on a blue background", seed=42, output_dir=folder, **arguments)
    profile: Profile = made[-1]["profile"]
    return profile


def report() -> str:
    from diffprof.render.report.profile_page import profile_html

    return profile_html(diffprof.profile("sd-2.1-base", height=512, width=512, num_inference_steps=30))


def run() -> str:
    from diffprof.render.report.profile_page import profile_html

    return profile_html(measured())


def compare() -> str:
    from diffprof.comparison.views.report import report_html

    names = ["sdxl", "sd3.5-medium"]
    return report_html([diffprof.profile(name) for name in names], names)


def fit() -> str:
    from diffprof.advice.views.fit_page import fit_html

    return fit_html(diffprof.fit("flux.1-dev", gpu="rtx-4090"))


def predict() -> str:
    from diffprof.advice.views.prediction_page import prediction_html

    return prediction_html(diffprof.predict("sdxl", gpu="h100-sxm,l4,rtx-4090,mi300x"))


def advise() -> str:
    from diffprof.advice.views.advice_page import advice_html

    return advice_html(diffprof.advise("flux.1-dev", gpu="rtx-4090", goal="time"))


def trace() -> str:
    from diffprof.traces.request import TraceRequest, explain_request
    from diffprof.traces.views.page import result_html

    return result_html(explain_request(TraceRequest((TRACE,))))


def memory() -> str:
    from diffprof.traces.memory.explain import explain_snapshot
    from diffprof.traces.memory.page import snapshot_html
    from tests.traces.memory.test_explain import snapshot

    with tempfile.TemporaryDirectory() as folder:
        file = snapshot(Path(folder) / "memory_snapshot.pickle")
        return snapshot_html(explain_snapshot(file), file.name)


PAGES: dict[str, Callable[[], str]] = {
    "report": report, "run": run, "compare": compare, "fit": fit, "predict": predict, "advise": advise,
    "trace": trace, "memory": memory,
}  # fmt: skip


def picture(browser: Browser, html: Path, size: tuple[int, int], theme: str) -> Image.Image:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)  # type: ignore[arg-type]
    page.goto(html.as_uri())
    page.wait_for_timeout(1500)  # figures are drawn when they come near
    shot = page.screenshot()
    page.close()
    return Image.open(io.BytesIO(shot))


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    width = sum(one.width for one in pictures) + GAP * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, max(one.height for one in pictures)), "white")
    left = 0
    for one in pictures:
        sheet.paste(one, (left, 0))
        left += one.width + GAP
    return sheet.resize((sheet.width * 2 // 3, sheet.height * 2 // 3), Image.Resampling.LANCZOS)


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for name in names or PAGES:
            html = Path(scratch) / f"{name}.html"
            html.write_text(PAGES[name](), encoding="utf-8")
            pictures = [picture(browser, html, LAPTOP, "light"), picture(browser, html, PHONE, "dark")]
            side_by_side(pictures).quantize(256, method=Image.Quantize.MAXCOVERAGE).save(
                folder / f"{name}.png", optimize=True
            )
        browser.close()


if __name__ == "__main__":
    main(DOCS if sys.argv[1] == "--docs" else Path(sys.argv[1]), sys.argv[2:])
