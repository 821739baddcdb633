"""A real browser for tests: Debian's Chromium, driven by playwright. Nothing it opens may ask anybody for anything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from diffprof.errors import RequestError
from diffprof.render.exports.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

PATIENCE_MS = 120_000
"""How long anything may take in a browser: playwright's own 5 and 30 seconds are short beside other work."""

DESKTOP, TELEPHONE = 1440, 390
HEIGHT = 900
OWN = ("file:", "data:", "blob:")

OPTIONS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    # Nothing is found beside this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 0.0.0.0",
    # All pages of a site in one process: it compiles their scripts once, which takes longer than all else of a visit.
    "--process-per-site",
)
KEPT_OPEN = "/kept-open"
"""The path of an empty page of each site: without any page, its process would end."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, once for all tests of a module.

    Not for longer: while playwright is there, its event loop runs, and tests with loops of their own could not begin.
    """
    with launched_browser() as launched:
        yield launched


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a test writes the page that it opens: under one path for all, the browser compiles equal scripts once."""
    return tmp_path_factory.mktemp("pages") / "page.html"


@contextlib.contextmanager
def launched_browser() -> Iterator[Browser]:
    """Chromium while it runs; without one the tests fail, as nobody would look otherwise."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    try:
        program = find_browser()
    except RequestError:
        pytest.fail("There is no Chromium here; `make test` installs it, or do so with `apt-get install chromium`.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=OPTIONS, timeout=PATIENCE_MS)
        yield launched
        launched.close()


@dataclass
class Visit:
    """A page that is open, and what went wrong or out meanwhile."""

    page: Page
    messages: list[str] = field(default_factory=list)
    """On the console, and errors that no script caught."""
    requests: list[str] = field(default_factory=list)
    """To anywhere but the page's own address; those to other machines did not get through."""
    all_requests: list[str] = field(default_factory=list)

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@contextlib.contextmanager
def visiting(
    browser: Browser, address: str, width: int = DESKTOP, dark: bool = False, script: str = ""
) -> Iterator[Visit]:
    """Open the address in a window of its own, without cookies and with no network beside this machine.

    The `script` runs before those of the page.
    """
    page = open_window(browser, address, width, dark)
    visit = Visit(page)

    def note(request: Request) -> None:
        visit.all_requests.append(request.url)
        if not request.url.startswith((*OWN, address.partition("?")[0])):
            visit.requests.append(request.url)

    page.on("request", note)
    page.on("console", lambda message: visit.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: visit.messages.append(str(error)))
    page.add_init_script(script)
    page.goto(address)
    try:
        yield visit
    finally:
        close_window(page)


def open_window(browser: Browser, address: str, width: int, dark: bool) -> Page:
    """An empty window of this size and theme, in the process that the site has already."""
    context = browser.contexts[0] if browser.contexts else browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    keep_process(context, address)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme="dark" if dark else "light")
    if width <= TELEPHONE:
        touch = {"enabled": True, "maxTouchPoints": 1}
        context.new_cdp_session(page).send("Emulation.setTouchEmulationEnabled", touch)
    return page


def keep_process(context: BrowserContext, address: str) -> None:
    """Keep an empty page of the site open."""
    site = urlsplit(address)
    empty = f"{site.scheme}://{site.hostname or ''}{KEPT_OPEN}"
    if all(page.url != empty for page in context.pages):
        page = context.new_page()
        page.route(empty, lambda route: route.fulfill(content_type="text/html", body=""))
        page.goto(empty)


def close_window(page: Page) -> None:
    """Close the window with all that its page has left in the browser."""
    context = page.context
    if not page.is_closed():
        page.evaluate("localStorage.clear()")
        page.close()
    context.clear_cookies()
