"""A real browser for tests: Debian's Chromium, driven by playwright. Nothing it opens may ask anybody for anything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from diffprof.errors import RequestError
from diffprof.render.exports.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

PATIENCE_MS = 120_000
"""How long anything may take in a browser: playwright's own 5 and 30 seconds are short beside other work."""

DESKTOP, TELEPHONE = 1440, 390
HEIGHT = 900
OWN = ("file:", "data:", "blob:")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, once for all tests of a module.

    Not for longer: while playwright is there, its event loop runs, and tests with loops of their own could not begin.
    """
    with launched_browser() as launched:
        yield launched


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
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=PATIENCE_MS
        )
        yield launched
        launched.close()


@dataclass
class Visit:
    """A page that is open, and what went wrong or out meanwhile."""

    page: Page
    messages: list[str] = field(default_factory=list)
    """On the console, and errors that no script caught."""
    requests: list[str] = field(default_factory=list)
    """To anywhere but the page's own address; none of them got through."""
    all_requests: list[str] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    """Requests that are not answered to their end."""

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@contextlib.contextmanager
def visiting(browser: Browser, address: str, width: int = DESKTOP, dark: bool = False) -> Iterator[Visit]:
    """Open the address in a window of its own that has no cookies, no cache and no network beside that address."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if dark else "light",
        has_touch=width <= TELEPHONE,
    )
    context.set_default_timeout(PATIENCE_MS)
    visit = Visit(context.new_page())

    def check(route: Route) -> None:
        visit.all_requests.append(route.request.url)
        if route.request.url.startswith((*OWN, address.partition("?")[0])):
            route.continue_()
        else:
            visit.requests.append(route.request.url)
            route.abort()

    context.route("**/*", check)
    visit.page.on("console", lambda message: visit.messages.append(f"{message.type}: {message.text}"))
    visit.page.on("pageerror", lambda error: visit.messages.append(str(error)))
    visit.page.on("request", lambda request: visit.under_way.append(request.url))
    for end in ("requestfinished", "requestfailed"):
        visit.page.on(end, lambda request: visit.under_way.remove(request.url))
    visit.page.goto(address)
    try:
        yield visit
    finally:
        context.close()
