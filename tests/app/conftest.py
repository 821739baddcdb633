"""The real page, served to a real browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from diffprof.app.context import AppContext
from diffprof.app.downloads import Downloads
from diffprof.app.server import _import_gradio, application, bind_socket, create_server
from diffprof.app.session import Session
from diffprof.app.setup import Setup
from tests.browsers import PATIENCE_MS, Visit, launched_browser, visiting
from tests.small_pipelines import SMALL_PIPELINES

QUIET_MOMENTS, MOMENT_MS = 8, 20
QUEUE_WATCH, CALM_CLOCKS = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("queue_watch.js", "calm_clocks.js")
)
HARMLESS = ("log:", "info:", "debug:", "warning:")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all tests of the page: none of them has an event loop of its own."""
    with launched_browser() as launched:
        yield launched


@pytest.fixture(scope="package")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the owner of the page named for models, with small ones in it."""
    folder = tmp_path_factory.mktemp("models")
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(folder / "tiny-sd")
    SMALL_PIPELINES["text-to-video"].build().save_pretrained(folder / "tiny-film")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIFFPROF_MODEL_DIRS", str(folder))
        patch.setenv("DIFFPROF_OUTPUT_DIR", str(tmp_path_factory.mktemp("outputs")))
        patch.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("gradio")))
        # How often Gradio looks whether visitors are still there; its own 15 seconds are long to wait for.
        patch.setenv("GRADIO_HEARTBEAT_INTERVAL", "0.25")
        yield folder


@pytest.fixture(scope="package")
def counted_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all tests of the page: each visit begins with the same model, which is counted once."""
    return tmp_path_factory.mktemp("app-cache")


@pytest.fixture(autouse=True)
def shared_cache(own_cache: Path, counted_before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_CACHE_DIR", str(counted_before))


@pytest.fixture(scope="package")
def address(models: Path) -> Iterator[str]:
    """Where the page is served, as `diffprof app` does it."""
    with served(Setup(port=0)) as at:
        yield at


class served:
    """The page, while it is served."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def __enter__(self) -> str:
        self.socket = bind_socket(self.setup)
        self.server = create_server(application(self.setup))
        self.thread = threading.Thread(target=lambda: self.server.run(sockets=[self.socket]), daemon=True)
        self.thread.start()
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while not self.server.started:
            assert self.thread.is_alive(), "the server ended before it began"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)
        host, port = self.socket.getsockname()[:2]
        return f"http://{host}:{port}"

    def __exit__(self, *ended: Any) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=PATIENCE_MS / 1000)
        self.socket.close()


Tab = TypeVar("Tab")


def build_tab(tab: Callable[[AppContext], Tab], setup: Setup) -> Tab:
    """A tab that nobody serves: its handlers can be called as Gradio calls them."""
    gradio = _import_gradio()
    with gradio.Blocks(analytics_enabled=False) as blocks:
        return tab(AppContext(setup, Downloads(), gradio.State(Session()), blocks.load))


def last_updates(updates: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    """What the components of a tab show when a handler has ended."""
    shown: dict[Any, Any] = {}
    for update in updates:
        shown |= update
    return shown


@dataclass
class Visitor:
    """Somebody who looks at the page, and does what visitors do."""

    window: Visit

    @property
    def page(self) -> Page:
        return self.window.page

    @property
    def complaints(self) -> list[str]:
        """Requests to anywhere else, and errors."""
        said = [words for words in self.window.messages if not words.startswith(HARMLESS)]
        return [*self.window.requests, *said]

    def find(self, name: str) -> Locator:
        return self.page.locator(f"#{name}")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def choose(self, name: str, value: str) -> None:
        """Type into a list of choices, and take what was typed."""
        box = self.find(name).locator("input")
        box.fill(value)
        box.press("Enter")
        box.press("Tab")

    def type(self, name: str, value: str) -> None:
        box = self.find(name).locator("input, textarea").first
        box.fill(value)

    def press(self, name: str) -> None:
        button = self.find(name)
        (button if button.evaluate("one => one.tagName") == "BUTTON" else button.locator("button")).click()

    def sees(self, name: str, text: str, to_come: bool = False) -> None:
        """Wait for the text and, unless more is to come, for the end of what brought it."""
        # As a list: of a text alone, playwright describes the whole page to itself each time it is not there yet.
        expect(self.find(name)).to_contain_text([text])
        if not to_come:
            self.rests()

    def sees_chart(self, name: str, text: str = "") -> None:
        """Wait until the chart is drawn, with the text in it."""
        expect(self.find(name).locator(".js-plotly-plot:visible")).to_contain_text([text])

    def rests(self) -> None:
        """Wait until all that was asked is answered, and the page has had nothing to do for a moment.

        Gradio's script takes the stream of messages that the server is about to close for open. What is asked in these
        milliseconds, sooner than anybody could, is worked on and never shown.
        """
        self.page.evaluate(f"queueRests({QUIET_MOMENTS}, {MOMENT_MS}, {PATIENCE_MS})")

    def download(self, name: str, label: str) -> Path:
        with self.page.expect_download() as download:
            self.find(name).get_by_text(label, exact=True).click()
        return Path(download.value.path())


OpenPage = Callable[..., Visitor]


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[OpenPage]:
    """Open the page as somebody new; all of them may load only what the page itself serves, and see no error."""
    with ExitStack() as stack:
        everybody: list[Visitor] = []

        def open_page(query: str = "", tab: str = "Profile") -> Visitor:
            # Who looks at another tab needs no charts of a model on the first one: they take half of a visit.
            at = f"{address}/{query}" if tab == "Profile" else f"{address}/?model=none"
            visitor = Visitor(stack.enter_context(visiting(browser, at, script=QUEUE_WATCH + CALM_CLOCKS)))
            everybody.append(visitor)
            if tab == "Profile":
                visitor.sees("profile-totals", "exactly")
            else:
                visitor.sees("profile-message", "Unknown model 'none'")
                visitor.tab(tab)
            return visitor

        yield open_page
        assert [visitor.complaints for visitor in everybody] == [[] for _ in everybody]
