"""The page as a whole: on every screen, for the keyboard, and towards the rest of the world."""

from __future__ import annotations

import http.client
import inspect
import itertools
import json
import sys
import urllib.parse
from pathlib import Path

from playwright.sync_api import expect

import diffprof
from diffprof.app.downloads import Downloads
from diffprof.app.layout import MAX_WAITING, REST_SECONDS, build_page
from diffprof.app.server import POLICY
from diffprof.app.setup import Setup
from tests.app.conftest import OpenPage, Visitor, served
from tests.browsers import DESKTOP, TELEPHONE

TABS = ("Profile", "Generate", "Compare", "Files", "History")

NAMELESS = """() => [...document.querySelectorAll('input, textarea, button, select, [role=slider]')]
    .filter(one => one.checkVisibility({visibilityProperty: true}) && one.type !== 'file')
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


def test_the_keyboard_is_enough_nobody_else_is_contacted_and_every_tab_fits_every_screen_in_both_themes(
    visit: OpenPage, address: str
) -> None:
    visitor = visit()
    check_keyboard(visitor)
    check_hosts(visitor, address)
    check_screens(visitor)


def check_keyboard(visitor: Visitor) -> None:
    """One can see what the keyboard is at, it reaches all in order, and it opens tabs."""
    wanted = ["profile-model", "profile-width", "profile-height", "profile-num_inference_steps", "profile-beside"]
    for name in wanted:
        expect(visitor.find(name).locator("input").first).to_be_enabled()
    keyboard = visitor.page.keyboard
    visitor.page.get_by_role("tab", name="Profile").focus()
    keyboard.press("Tab")
    focused = "document.activeElement.closest('[id^=profile-], [role=tab]')?.id || document.activeElement.innerText"
    reached = [visitor.page.evaluate(focused)]
    for _ in range(20):
        keyboard.press("Tab")
        reached.append(visitor.page.evaluate(focused))
        assert visitor.page.evaluate(SEEN), reached[-1]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)

    visitor.page.get_by_role("tab", name="Generate").focus()
    keyboard.press("Enter")
    visitor.find("generate-prompt").wait_for()
    visitor.rests()
    visitor.tab("Profile")


def check_hosts(visitor: Visitor, address: str) -> None:
    """No other host is contacted or linked, and no button of a chart does so."""
    visitor.find("profile-attention").locator(".modebar-btn").first.wait_for(state="attached")
    for tab in TABS:
        visitor.tab(tab)
        assert visitor.page.evaluate(OUTSIDE) == [], tab
    requests = [url for url in visitor.window.all_requests if not url.startswith(("data:", "blob:"))]
    assert len(requests) > 10
    assert {urllib.parse.urlsplit(url).netloc for url in requests} == {urllib.parse.urlsplit(address).netloc}
    titles = visitor.page.locator(".modebar-btn").evaluate_all("all => all.map(one => one.dataset.title)")
    assert set(titles) == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}
    visitor.tab("Profile")


def check_screens(visitor: Visitor) -> None:
    visitor.find("profile-kinds").locator(".ytick text").first.wait_for()
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


def send_request(
    address: str, method: str, path: str, **more: str | bytes | dict[str, str]
) -> http.client.HTTPResponse:
    place = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=600)
    connection.request(method, path, **more)  # type: ignore[arg-type]
    return connection.getresponse()


def test_another_sites_name_does_not_open_a_page_that_is_for_this_machine(address: str) -> None:
    assert send_request(address, "GET", "/").status == 200
    assert send_request(address, "GET", "/", headers={"Host": "evil.example"}).status == 400


def test_a_page_for_this_machine_opens_under_any_of_its_addresses(models: Path) -> None:
    with served(Setup(host="127.0.0.5", port=0)) as at:
        assert send_request(at, "GET", "/").status == 200
        assert send_request(at, "GET", "/", headers={"Host": "evil.example"}).status == 400


def test_a_page_of_another_site_can_use_nothing_of_this_one(address: str) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="files"; filename="p.json"\r\n\r\n{}\r\n--x--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    for origin, status in ((address, 200), ("https://evil.example", 403), ("null", 403)):
        sent = {**kind, "Origin": origin}
        assert send_request(address, "POST", "/gradio_api/upload", body=body, headers=sent).status == status, origin


def test_the_queue_cannot_be_bypassed(address: str) -> None:
    settings = json.loads(send_request(address, "GET", "/config").read())
    waiting = [one for one in settings["dependencies"] if one["queue"]]
    assert len(waiting) > 5
    for one in waiting:
        body = json.dumps({"data": [None] * len(one["inputs"]), "fn_index": one["id"], "session_hash": "me"}).encode()
        answer = send_request(
            address, "POST", "/gradio_api/run/predict", body=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status == 404, one
        assert b"join the queue" in answer.read()


def test_gradio_keeps_nothing_of_what_visitors_do(address: str) -> None:
    assert send_request(address, "GET", "/gradio_api/runs").status == 404
    assert json.loads(send_request(address, "GET", "/config").read()).get("run_history", False) is False


def test_the_queue_is_bounded_and_does_no_work_of_its_own(address: str) -> None:
    queue = build_page(Setup(), Downloads())._queue
    assert queue.max_size == MAX_WAITING
    assert queue.sleep_when_free == REST_SECONDS
    assert "self.sleep_when_free" in inspect.getsource(queue.start_processing)
    requests_between_sums = queue.ANAYLTICS_CACHE_FREQUENCY
    assert requests_between_sums == sys.maxsize


def test_a_file_of_the_machine_is_not_taken_for_an_upload(address: str, tmp_path: Path) -> None:
    diffprof.profile("dit-xl-2-256").save(tmp_path / "secret.json")
    settings = json.loads(send_request(address, "GET", "/config").read())
    (files,) = (one["id"] for one in settings["components"] if one["props"].get("elem_id") == "compare-files")
    (compare,) = (one for one in settings["dependencies"] if files in one["inputs"])
    forged = {"path": str(tmp_path / "secret.json"), "meta": {"_type": "gradio.FileData"}}
    data = [None, ["dit-xl-2-256"], [forged], False, "", "", ""]
    body = json.dumps({"data": data, "fn_index": compare["id"], "session_hash": "forger"}).encode()
    sent = {"Content-Type": "application/json"}
    assert send_request(address, "POST", "/gradio_api/queue/join", body=body, headers=sent).status == 200
    stream = send_request(address, "GET", "/gradio_api/queue/data?session_hash=forger")
    told = [json.loads(line[5:]) for line in stream.read().splitlines() if line.startswith(b"data:")]
    assert [one["success"] for one in told if one["msg"] == "process_completed"] == [False]
    assert b"secret" not in json.dumps(told).encode()


def test_the_content_security_policy_forbids_other_hosts(address: str) -> None:
    assert send_request(address, "GET", "/").headers["Content-Security-Policy"] == POLICY


def test_a_guessed_link_is_not_found(address: str) -> None:
    assert send_request(address, "GET", "/files/guessed/json").status == 404


def test_files_of_the_machine_are_not_served(address: str) -> None:
    for path in ("/gradio_api/file=/etc/passwd", "/files/..%2f..%2fetc/passwd", "/gradio_api/file=pyproject.toml"):
        assert send_request(address, "GET", path).status in (403, 404), path


def test_an_upload_that_is_too_large_is_rejected(address: str) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="big.json"\r\n\r\n'
    body = head + b" " * (65 << 20) + b"\r\n--x--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert send_request(address, "POST", "/gradio_api/upload", body=body, headers=kind).status == 413
