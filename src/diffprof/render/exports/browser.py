"""A page as a PDF or a picture, by a browser that is installed here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from diffprof.errors import OutputError, RequestError

VARIABLE = "DIFFPROF_BROWSER"
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PICTURE_WIDTH = 1440
LOOKING_SECONDS = 180
_HEIGHT = re.compile(r'<html[^>]* data-height="(\d+)"')


def find_browser() -> str:
    """The browser that DIFFPROF_BROWSER names, or the first of those that are known; a `RequestError` without one."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise RequestError(f"{VARIABLE} names {named}, which is no program; correct it, or unset it.")
        return found
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise RequestError(
        "A PDF or a picture needs Chromium or Chrome, and none was found; install one (`apt-get install chromium`), "
        f"or say where it is with {VARIABLE}. The page itself needs none: open it in any browser."
    )


def page_as_pdf(html: str, browser: str) -> bytes:
    """The page as it prints."""
    with _Folder() as folder:
        target = folder / "page.pdf"
        _run(browser, folder, _written(html, folder), ["--no-pdf-header-footer", f"--print-to-pdf={target}"])
        return _made(target, browser)


def page_as_png(html: str, browser: str) -> bytes:
    """The whole page as a PNG."""
    with _Folder() as folder:
        page, target = _written(html, folder), folder / "page.png"
        seen = _run(browser, folder, page, ["--dump-dom", f"--window-size={PICTURE_WIDTH},1000"])
        height = _HEIGHT.search(seen)
        if height is None:
            raise OutputError(f"{browser} did not draw the page; open it in a browser to see why.")
        size = f"--window-size={PICTURE_WIDTH},{height.group(1)}"
        _run(browser, folder, page, [size, f"--screenshot={target}"])
        return _made(target, browser)


class _Folder(tempfile.TemporaryDirectory[str]):
    """A folder that is gone afterwards, also where the browser still holds a file in it."""

    def __init__(self) -> None:
        super().__init__(prefix="diffprof-", ignore_cleanup_errors=True)

    def __enter__(self) -> Path:  # type: ignore[override]
        return Path(super().__enter__())


def _written(html: str, folder: Path) -> Path:
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    return page


def _run(browser: str, folder: Path, page: Path, options: Sequence[str]) -> str:
    command = [
        browser, "--headless", f"--user-data-dir={folder / 'browser'}", "--hide-scrollbars", "--disable-gpu",
        "--no-first-run", "--no-default-browser-check", "--disable-sync", "--disable-extensions",
        "--disable-background-networking", "--disable-component-update",
        # Figures are drawn when they come near; this lets time pass until nothing is left to do.
        "--virtual-time-budget=30000",
        # Chromium refuses to run as root in its sandbox; what it opens is the page that was written above.
        *(["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []),
        *options, page.as_uri(),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=LOOKING_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise OutputError(f"{browser} did not end within {LOOKING_SECONDS} s.") from error
    except OSError as error:
        raise OutputError(f"{browser} could not be started: {error.strerror or error}.") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise OutputError(f"{browser} failed with exit code {done.returncode}{': ' + said[-1] if said else ''}.")
    return done.stdout.decode(errors="replace")


def _made(target: Path, browser: str) -> bytes:
    if not target.is_file():
        raise OutputError(f"{browser} ended without making a file; is it a Chromium?")
    return target.read_bytes()
