"""The report in a real browser: drawn in full, quiet, on a laptop and on a telephone, and without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from diffprof.comparison import compare
from diffprof.comparison.curves import Curve, Growth
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.views.page import comparison_html
from diffprof.record.profile import Profile
from tests.browsers import DESKTOP, TELEPHONE, Visit, visiting
from tests.render.report.conftest import Write
from tests.render.report.reports import BOLD, ENDING, PICTURE, SCRIPT, hostile_everywhere
from tests.sample_iterations import GPU
from tests.sample_profiles import everything_measured, measured_profile, nothing, stable_diffusion

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REPORTS: dict[str, Callable[[], Sequence[Profile]]] = {
    "counted": lambda: [stable_diffusion()],
    "measured": lambda: [everything_measured()],
    "empty": lambda: [nothing()],
    "two": lambda: [measured_profile(device=GPU), measured_profile(device=GPU, steps=8)],
    "three": lambda: [stable_diffusion(), stable_diffusion(steps=10, unet_calls=11), everything_measured()],
}


def see_everything(page: Page) -> None:
    """Open what is folded and make the window as high as the page, so that every figure is drawn."""
    from playwright.sync_api import expect

    page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height})  # type: ignore[index]
    # Not by wait_for_function: the page's policy forbids the eval that it uses.
    expect(page.locator(".chart:visible:not(:has(.main-svg))")).to_have_count(0, timeout=60_000)


LOOKS = [
    # The measured one on a desktop has a test of its own, below.
    *((report, DESKTOP, False) for report in ("two", "three")),
    *((report, TELEPHONE, True) for report in ("counted", "measured", "empty")),
    *(pytest.param(report, DESKTOP, False, marks=pytest.mark.extensive) for report in ("counted", "empty")),
    *(pytest.param(report, TELEPHONE, True, marks=pytest.mark.extensive) for report in ("two", "three")),
    *(
        pytest.param(*look, marks=pytest.mark.extensive)
        for look in (("measured", DESKTOP, True), ("measured", TELEPHONE, False))
    ),
]


@pytest.mark.parametrize(("report", "width", "dark"), LOOKS)
def test_a_report_opens_from_disk_without_a_message_a_request_or_an_overflow(
    browser: Browser, written: Write, report: str, width: int, dark: bool
) -> None:
    with visiting(browser, written(REPORTS[report]()), width, dark) as visit:
        see_everything(visit.page)
        check_look(visit, dark)


def check_look(visit: Visit, dark: bool) -> None:
    assert visit.messages == []
    assert visit.requests == []
    assert visit.overflow <= 0
    assert visit.page.locator("html").get_attribute("data-theme") == ("dark" if dark else "light")


def test_every_chart_of_a_measured_run_is_drawn_reached_by_keyboard_themed_and_sent_nowhere(
    browser: Browser, written: Write
) -> None:
    with visiting(browser, written([everything_measured()])) as visit:
        check_idle_drawing(visit.page)
        check_tabs(visit.page)
        see_everything(visit.page)
        check_look(visit, dark=False)
        check_charts(visit.page)
        check_theme_button(visit.page)


def test_figures_are_drawn_in_a_window_that_never_calls_itself_idle(browser: Browser, written: Write) -> None:
    never = "window.requestIdleCallback = (work, options) => options?.timeout && setTimeout(work, options.timeout)"
    with visiting(browser, written([everything_measured()]), script=never) as visit:
        check_idle_drawing(visit.page)


def check_idle_drawing(page: Page) -> None:
    """Every figure is drawn without scrolling once the browser is idle."""
    from playwright.sync_api import expect

    assert page.locator(".chart:visible").count() > 2
    expect(page.locator(".chart:visible:not(:has(.main-svg))")).to_have_count(0, timeout=60_000)


def check_tabs(page: Page) -> None:
    """Tabs are reached by keyboard, there and back."""
    tabs = page.get_by_role("tab")
    panels = [page.locator(f"#{tabs.nth(number).get_attribute('aria-controls')}") for number in (0, 1)]
    tabs.first.focus()
    for key, shown in (("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert tabs.nth(shown).get_attribute("aria-selected") == "true"
        panels[shown].locator(".main-svg").first.wait_for()
        assert panels[1 - shown].is_hidden()


def check_charts(page: Page) -> None:
    """All nine charts have something in them, and no button that sends them anywhere."""
    labels = page.locator(".chart:visible").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    empty = page.locator(".chart:visible").evaluate_all(
        "(all) => all.filter((one) => !one.querySelector('.slice, .trace, .hm')).map((one) => one.ariaLabel)"
    )
    assert len(labels) == 9
    assert empty == []
    titles = page.locator(".modebar-btn").evaluate_all("(all) => all.map((one) => one.dataset.title)")
    assert set(titles) == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}


def check_theme_button(page: Page) -> None:
    """The button switches the theme of charts too."""
    colours = (
        "() => [getComputedStyle(document.documentElement).color, document.querySelector('.xtick text').style.fill]"
    )
    light = page.evaluate(colours)
    page.click("#theme")
    dark = page.evaluate(colours)
    page.click("#theme")
    assert page.evaluate(colours) == light
    assert light[0] != dark[0]
    assert light[1] != dark[1]


@pytest.mark.parametrize("width", [TELEPHONE, pytest.param(DESKTOP, marks=pytest.mark.extensive)])
def test_a_comparison_with_images_and_curves_is_drawn_and_quiet(browser: Browser, tmp_path: Path, width: int) -> None:
    one, other = Image.new("RGB", (640, 480), "red"), Image.new("RGB", (640, 480), "blue")
    files = []
    for name, image in (("<b>not bold.png", one), ("b.png", other)):
        image.save(tmp_path / name, "PNG")
        files.append(str(tmp_path / name))
    difference = ImageDifference(*files, False, 31.5, 0.98)
    curves = [Curve(SCRIPT, [1, 2], [10, 20]), Curve("b", [1, 2], [30, 90])]
    page = tmp_path / "page.html"
    comparison = replace(
        compare([stable_diffusion(), stable_diffusion()], [SCRIPT, "b"]),
        images=(difference,),
        growth=Growth(curves, curves, [PICTURE]),
    )
    page.write_text(comparison_html(comparison), encoding="utf-8")
    with visiting(browser, page.as_uri(), width) as visit:
        see_everything(visit.page)
        assert (visit.messages, visit.requests) == ([], [])
        assert visit.overflow <= 0
        shown = visit.page.locator("figure img").evaluate_all("(all) => all.map((one) => one.naturalWidth)")
        drawn = visit.page.locator("[aria-label='MACs over the pixels of the image'] .trace").count()
        hacked = visit.page.evaluate("window.hacked")
    assert (shown, drawn, hacked) == ([640, 640], 2, None)


def test_names_that_look_like_markup_are_text_in_tables_and_charts(browser: Browser, written: Write) -> None:
    with visiting(browser, written([hostile_everywhere()])) as visit:
        see_everything(visit.page)
        visit.page.get_by_role("tab", name="by MACs").click()
        see_everything(visit.page)
        words = visit.page.locator("body").inner_text()
        drawn = visit.page.locator(".chart svg text").evaluate_all("(all) => all.map((one) => one.textContent)")
        hacked = visit.page.evaluate("window.hacked")
        bold = visit.page.locator("b", has_text="not bold").count()
        links = visit.page.locator("[href*=evil], [src*=evil]").count()
        messages, requests = visit.messages, visit.requests
    assert hacked is None
    assert (bold, links, messages, requests) == (0, 0, [], [])
    for hostile in (SCRIPT, ENDING, PICTURE, BOLD):
        assert hostile in words
    assert any(f"unet{SCRIPT}" in text for text in drawn)
    assert any("block<script>" in text for text in drawn)
    # The end of what plotly would take for a tag of its own, as it does not know <script>: long names are cut.
    assert any("…example'>" in text for text in drawn)


def test_hostile_names_are_text_in_a_comparison_too(browser: Browser, written: Write) -> None:
    with visiting(browser, written([hostile_everywhere(), everything_measured()])) as visit:
        see_everything(visit.page)
        assert SCRIPT in visit.page.locator("body").inner_text()
        assert visit.page.evaluate("window.hacked") is None
        assert (visit.messages, visit.requests) == ([], [])


def test_a_block_zooms_in_and_out_and_a_script_that_got_into_the_page_would_not_run(
    browser: Browser, written: Write
) -> None:
    from playwright.sync_api import expect

    with visiting(browser, written([stable_diffusion()])) as visit:
        blocks = visit.page.locator(".chart").first.locator(".slice")
        blocks.filter(has_text="unet").first.click()
        expect(blocks.filter(has_text="vae")).to_have_count(0)
        expect(blocks.filter(has_text="mid_block")).to_have_count(1)
        visit.page.locator(".pathbar", has_text="generation").click()
        expect(blocks.filter(has_text="vae")).to_have_count(1)
        assert visit.messages == []

        visit.page.evaluate(
            "const script = document.createElement('script');"
            "script.textContent = 'window.hacked = 1'; document.body.append(script)"
        )
        assert visit.page.evaluate("window.hacked") is None
        assert "Content Security Policy" in "".join(visit.messages)


def test_print_is_light_and_expanded(browser: Browser, written: Write) -> None:
    with visiting(browser, written([everything_measured()]), dark=True) as visit:
        printed = visit.page.pdf(format="A4")
        assert printed.startswith(b"%PDF")
        # After printing all is as it was.
        assert visit.page.locator("html").get_attribute("data-theme") == "dark"
        assert visit.page.locator("details[open]").count() == 0
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert visit.page.locator("html").get_attribute("data-theme") == "light"
        assert visit.page.locator("details:not([open])").count() == 0
        widest = visit.page.evaluate(
            "Math.max(...[...document.querySelectorAll('.main-svg')].map((one) => one.clientWidth))"
        )
        assert widest <= 690
