"""A page as a PDF or a picture by a browser; what happens without one, or with one that fails."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from diffprof.comparison.views.report import report_html
from diffprof.errors import OutputError, RequestError
from diffprof.render.exports.browser import find_browser, page_as_pdf, page_as_png
from tests.sample_profiles import everything_measured


def program(folder: Path, *lines: str) -> str:
    """A program that stands in for a browser."""
    file = folder / "browser"
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_the_report_becomes_a_pdf_by_a_real_browser() -> None:
    content = page_as_pdf(report_html([everything_measured()], ["a"]), find_browser())
    assert content.startswith(b"%PDF-")
    assert content.count(b"/Type /Page\n") >= 3


def test_the_report_becomes_an_image_of_the_whole_page_by_a_real_browser() -> None:
    content = page_as_png(report_html([everything_measured()], ["a"]), find_browser())
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1440
    assert height > 5_000


def test_the_browser_that_the_variable_names_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_BROWSER", program(tmp_path, "exit 0"))
    assert find_browser() == str(tmp_path / "browser")


def test_a_variable_that_names_no_program_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_BROWSER", "/nowhere/chromium")
    with pytest.raises(RequestError, match="DIFFPROF_BROWSER names /nowhere/chromium, which is not a program"):
        find_browser()


def test_without_a_browser_a_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFPROF_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("diffprof.render.exports.browser.NAMES", ("chromium",))
    with pytest.raises(RequestError, match="apt-get install chromium"):
        find_browser()


def test_the_error_of_a_failing_browser_ends_with_its_last_message(tmp_path: Path) -> None:
    failing = program(tmp_path, "echo first >&2", "echo no display >&2", "exit 3")
    with pytest.raises(OutputError, match="failed with exit code 3: no display"):
        page_as_pdf("<p>", failing)


def test_a_program_that_writes_no_file_is_an_error(tmp_path: Path) -> None:
    idle = program(tmp_path, "exit 0")
    with pytest.raises(OutputError, match="without writing a file"):
        page_as_pdf("<p>", idle)
    with pytest.raises(OutputError, match="did not draw the page"):
        page_as_png("<p>", idle)
