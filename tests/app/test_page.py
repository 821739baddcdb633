"""The page as a whole: on every screen, for the keyboard, and towards the rest of the world."""

from __future__ import annotations

import http.client
import itertools
import urllib.parse
from pathlib import Path

from playwright.sync_api import expect

from diffprof.app.serving import POLICY
from diffprof.app.setup import Setup
from tests.app.conftest import OpenPage, served
from tests.browsers import DESKTOP, TELEPHONE

TABS = ("Profile", "Generate", "Compare", "History")

NAMELESS = """() => [...document.querySelectorAll('input, textarea, button, select, [role=slider]')]
    .filter(one => one.offsetParent !== null && one.type !== 'file')
    .filter(one => !(one.labels?.[0]?.innerText || one.getAttribute('aria-label') || one.innerText || one.title).trim())
    .map(one => one.outerHTML.slice(0, 200))"""

OUTSIDE = """() => [...document.querySelectorAll('[href], [src], [action]')]
    .map(one => one.getAttribute('href') || one.getAttribute('src') || one.getAttribute('action'))
    .filter(place => new URL(place, location.href).protocol.startsWith('http'))
    .filter(place => new URL(place, location.href).host !== location.host)"""

SEEN = """() => document.activeElement === document.body
    || getComputedStyle(document.activeElement).outlineStyle !== 'none'"""
"""Whether one can see what the keyboard is at."""

LEVELS = "document.querySelector('#profile-components .js-plotly-plot')?.data?.[0].maxdepth"

CONTRAST = """() => {
    const light = colour => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3)
            .map(part => part / 255).map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = getComputedStyle(document.body).backgroundColor;
    const ratio = one => {
        const written = getComputedStyle(one)[one.tagName === 'text' ? 'fill' : 'color'];
        const [a, b] = [light(written), light(behind)].sort((a, b) => b - a);
        return (a + 0.05) / (b + 0.05);
    };
    const all = document.querySelectorAll('#profile-totals *, #profile-tables td, #profile-kinds .ytick text');
    return Math.min(...[...all].map(ratio));
}"""


def test_every_tab_fits_every_screen_and_can_be_read_in_both_themes(visit: OpenPage) -> None:
    visitor = visit()
    expect(visitor.find("profile-kinds").locator(".ytick text").first).to_be_visible()
    for width, theme in itertools.product((DESKTOP, TELEPHONE), ("light", "dark")):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        visitor.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        expect(visitor.page.locator("body.dark")).to_have_count(int(theme == "dark"))
        for tab in TABS:
            visitor.tab(tab)
            expect(visitor.page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            assert visitor.window.overflow == 0, (tab, width)
            assert visitor.page.evaluate(NAMELESS) == [], tab
        visitor.tab("Profile")
        visitor.page.wait_for_function(f"({CONTRAST})() > 4.5")
        visitor.page.wait_for_function(f"{LEVELS} === {5 if width == DESKTOP else 3}")


def test_nothing_is_asked_of_anybody_else_and_no_link_leads_there(visit: OpenPage, address: str) -> None:
    visitor = visit()
    expect(visitor.find("profile-attention").locator(".modebar-btn").first).to_be_attached()
    for tab in TABS:
        visitor.tab(tab)
        assert visitor.page.evaluate(OUTSIDE) == [], tab
    requests = [url for url in visitor.window.all_requests if not url.startswith(("data:", "blob:"))]
    assert len(requests) > 10
    assert {urllib.parse.urlsplit(url).netloc for url in requests} == {urllib.parse.urlsplit(address).netloc}
    titles = visitor.page.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title)")
    assert set(titles) == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}


def test_the_keyboard_is_enough(visit: OpenPage) -> None:
    visitor = visit()
    keyboard = visitor.page.keyboard
    visitor.page.get_by_role("tab", name="Profile").focus()
    keyboard.press("Tab")
    focused = "document.activeElement.closest('[id^=profile-], [role=tab]')?.id || document.activeElement.innerText"
    reached = [visitor.page.evaluate(focused)]
    for _ in range(20):
        keyboard.press("Tab")
        reached.append(visitor.page.evaluate(focused))
        assert visitor.page.evaluate(SEEN), reached[-1]
    wanted = ["profile-model", "profile-width", "profile-height", "profile-num_inference_steps", "profile-stop"]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)

    visitor.page.get_by_role("tab", name="Generate").focus()
    keyboard.press("Enter")
    expect(visitor.find("generate-prompt")).to_be_visible()


def asked(address: str, method: str, path: str, **more: str | bytes | dict[str, str]) -> http.client.HTTPResponse:
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    connection.request(method, path, **more)  # type: ignore[arg-type]
    return connection.getresponse()


def test_another_sites_name_does_not_open_a_page_that_is_for_this_machine(address: str) -> None:
    assert asked(address, "GET", "/").status == 200
    assert asked(address, "GET", "/", headers={"Host": "evil.example"}).status == 400


def test_the_browser_is_told_to_ask_nobody_else(address: str) -> None:
    assert asked(address, "GET", "/").headers["Content-Security-Policy"] == POLICY


def test_a_link_that_nobody_was_given_leads_nowhere(address: str) -> None:
    assert asked(address, "GET", "/files/guessed/json").status == 404


def test_files_of_the_machine_are_not_served(address: str) -> None:
    for path in ("/gradio_api/file=/etc/passwd", "/files/..%2f..%2fetc/passwd", "/gradio_api/file=pyproject.toml"):
        assert asked(address, "GET", path).status in (403, 404), path


def test_an_upload_that_is_too_large_is_refused(address: str) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="big.json"\r\n\r\n'
    body = head + b" " * (65 << 20) + b"\r\n--x--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert asked(address, "POST", "/gradio_api/upload", body=body, headers=kind).status == 413


def test_paths_are_opened_where_the_page_was_started_for_it(visit: OpenPage, models: Path) -> None:
    with served(Setup(port=0, allow_paths=True)) as at:
        visitor = visit(at=at)
        visitor.choose("profile-model", f"{models}/../{models.name}/tiny-sd")
        visitor.sees("profile-totals", "tiny-sd · 32 x 32")
        visitor.choose("profile-model", "/nowhere/at/all")
        visitor.sees("profile-message", "There is no folder /nowhere/at/all")
