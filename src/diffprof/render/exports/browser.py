"""Convert an HTML page to a PDF or an image with an installed browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from diffprof.errors import OutputError, RequestError

VARIABLE = "DIFFPROF_BROWSER"
NAMES = (
    "chromium-headless-shell",  # draws the same pages in two thirds of the time
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
IMAGE_WIDTH = 1440
TIMEOUT_SECONDS = 180
_HEIGHT = re.compile(r'<html[^>]* data-height="(\d+)"')


def find_browser() -> str:
    """The browser named by DIFFPROF_BROWSER, or the first one that is installed; a `RequestError` if there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise RequestError(f"{VARIABLE} names {named}, which is not a program; correct or unset it.")
        return found
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise RequestError(
        "A PDF or an image needs Chromium or Chrome, and neither was found; install one (`apt-get install chromium`), "
        f"or set {VARIABLE} to its path. The HTML page needs neither: open it in any browser."
    )


def page_as_pdf(html: str, browser: str) -> bytes:
    """Print the page to a PDF."""
    with _temporary_folder() as folder:
        target = folder / "page.pdf"
        _run(browser, folder, _write_page(html, folder), ["--no-pdf-header-footer", f"--print-to-pdf={target}"])
        return _read_result(target, browser)


def page_as_png(html: str, browser: str) -> bytes:
    """Take a screenshot of the whole page, as a PNG."""
    with _temporary_folder() as folder:
        page, target = _write_page(html, folder), folder / "page.png"
        dom = _run(browser, folder, page, ["--dump-dom", f"--window-size={IMAGE_WIDTH},1000"])
        height = _HEIGHT.search(dom)
        if height is None:
            raise OutputError(f"{browser} did not draw the page; open it in a browser to see why.")
        size = f"--window-size={IMAGE_WIDTH},{height.group(1)}"
        _run(browser, folder, page, [size, f"--screenshot={target}"])
        return _read_result(target, browser)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is removed afterwards, even if the browser still has a file in it open."""
    with tempfile.TemporaryDirectory(prefix="diffprof-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _write_page(html: str, folder: Path) -> Path:
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    return page


def _run(browser: str, folder: Path, page: Path, options: Sequence[str]) -> str:
    command = [
        browser, "--headless", f"--user-data-dir={folder / 'browser'}", "--hide-scrollbars", "--disable-gpu",
        "--no-first-run", "--no-default-browser-check", "--disable-sync", "--disable-extensions",
        "--disable-background-networking", "--disable-component-update",
        # Charts are drawn when they scroll near; this lets time pass until all are drawn.
        "--virtual-time-budget=30000",
        # Chromium's sandbox does not work as root; the only page it opens is our own.
        *(["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []),
        *options, page.as_uri(),
    ]  # fmt: skip
    try:
        result = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise OutputError(f"{browser} did not finish within {TIMEOUT_SECONDS} s.") from error
    except OSError as error:
        raise OutputError(f"{browser} could not be started: {error.strerror or error}.") from error
    if result.returncode:
        messages = result.stderr.decode(errors="replace").strip().splitlines()
        raise OutputError(
            f"{browser} failed with exit code {result.returncode}{': ' + messages[-1] if messages else ''}."
        )
    return result.stdout.decode(errors="replace")


def _read_result(target: Path, browser: str) -> bytes:
    if not target.is_file():
        raise OutputError(f"{browser} finished without writing a file; is it a Chromium?")
    return target.read_bytes()
