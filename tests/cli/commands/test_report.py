"""``diffprof report``: what it writes, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.children import run_child
from tests.cli.conftest import Engine, Run
from tests.sample_profiles import everything_measured, stable_diffusion


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a counted and a measured profile in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    stable_diffusion().save("counted.json")
    everything_measured().save("measured.json.gz")
    return folder


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"counted.json", "measured.json.gz"}


def test_a_saved_profile_becomes_a_page(run: Run, at_work: Path) -> None:
    ended = run("report", "counted.json", "-o", "report.html")
    assert (ended.code, ended.out, ended.err) == (0, "", "Wrote report.html\n")
    assert "One generation costs 26.2 TMACs" in (at_work / "report.html").read_text("utf-8")


def test_several_profiles_become_a_comparison(run: Run, at_work: Path) -> None:
    assert run("report", "counted.json", "measured.json.gz", "-o", "report.html", "--quiet").err == ""
    page = (at_work / "report.html").read_text("utf-8")
    assert "<h1>counted against measured</h1>" in page


def test_a_model_is_counted_first(run: Run, at_work: Path, engine: Engine) -> None:
    assert run("report", "sd-2.1-base", "-o", "report.html").code == 0
    assert engine.request.model == "sd-2.1-base"


def test_time_lines_and_tables_are_written_without_a_page(run: Run, at_work: Path) -> None:
    ended = run(
        "report", "measured.json.gz", "--speedscope", "s.json", "--chrome-trace", "t.json", "--tables", "tables"
    )
    assert ended.err == "Wrote s.json\nWrote t.json\nWrote tables\n"
    assert written(at_work) == {"s.json", "t.json", "tables"}
    assert json.loads((at_work / "s.json").read_text())["profiles"][0]["unit"] == "nanoseconds"
    assert json.loads((at_work / "t.json").read_text())["traceEvents"]
    assert len(list((at_work / "tables").glob("*.csv"))) == 18


def test_tables_of_several_profiles_have_a_folder_each(run: Run, at_work: Path) -> None:
    assert run("report", "counted.json", "measured.json.gz", "--tables", "tables", "--parquet").code == 0
    assert {path.name for path in (at_work / "tables").iterdir()} == {"1-counted", "2-measured"}
    assert len(list((at_work / "tables" / "1-counted").glob("*.parquet"))) == 6


def test_the_browser_renders_pdf_and_png(
    run: Run, at_work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real one is in test_browser.py.
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\nfor option; do case "$option" in\n'
        '--print-to-pdf=*) echo a pdf > "${option#*=}";;\n--screenshot=*) echo a picture > "${option#*=}";;\n'
        "--dump-dom) echo '<html data-height=\"9\">';;\nesac; done\n",
        encoding="utf-8",
    )
    browser.chmod(0o755)
    monkeypatch.setenv("DIFFPROF_BROWSER", str(browser))
    ended = run("report", "counted.json", "--pdf", "r.pdf", "--png", "r.png")
    assert (ended.code, ended.err) == (0, "Wrote r.pdf\nWrote r.png\n")
    assert (at_work / "r.pdf").read_text() == "a pdf\n"
    assert (at_work / "r.png").read_text() == "a picture\n"
    assert written(at_work) == {"r.pdf", "r.png"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["counted.json"], "Specify what to write: -o report.html, --pdf"),
        (["counted.json", "-o", "r.html", "--parquet"], "specify where they go with --tables FOLDER"),
        (["counted.json", "measured.json.gz", "--speedscope", "s"], "--speedscope writes one profile, not 2"),
        (["counted.json", "measured.json.gz", "--chrome-trace", "s"], "--chrome-trace writes one profile, not 2"),
        (["counted.json", "-o", "x.docx"], "-o writes an HTML page; name it x.html, not x.docx."),
        (["counted.json", "-o", "same.html", "--pdf", "./same.html"], "to the same file"),
        (["missing.json", "-o", "r.html"], "Cannot read missing.json: No such file or directory"),
        (["other.json", "-o", "r.html"], "is not a diffprof profile"),
    ],
)
def test_a_wrong_request_is_rejected_and_writes_nothing(
    run: Run, at_work: Path, arguments: list[str], sentence: str
) -> None:
    Path("other.json").write_text("{}", encoding="utf-8")
    ended = run("report", *arguments)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
    assert written(at_work) == {"other.json"}


def test_a_missing_folder_is_reported_before_anything_is_read(run: Run, at_work: Path) -> None:
    ended = run("report", "missing.json", "-o", "nowhere/report.html")
    assert (ended.code, ended.err) == (
        1, "diffprof: error: Cannot write nowhere/report.html: there is no folder nowhere.\n",
    )  # fmt: skip


def test_a_file_where_the_tables_folder_should_be_is_reported(run: Run, at_work: Path) -> None:
    ended = run("report", "counted.json", "--tables", "counted.json")
    assert ended.code == 1
    assert "Cannot write into counted.json: File exists." in ended.err


def test_without_a_browser_nothing_is_written(run: Run, at_work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_BROWSER", "/nowhere/chromium")
    ended = run("report", "counted.json", "-o", "r.html", "--pdf", "r.pdf")
    assert ended.code == 2
    assert "DIFFPROF_BROWSER names /nowhere/chromium" in ended.err
    assert written(at_work) == set()


def test_without_plotly_a_message_says_what_to_install(
    run: Run, at_work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    ended = run("report", "counted.json", "-o", "r.html")
    assert ended.code == 2
    assert "pip install 'diffprof[report]'" in ended.err
    # What needs no figure is written all the same.
    assert run("report", "counted.json", "--speedscope", "s.json").code == 0


def test_without_pyarrow_a_message_says_what_to_install(
    run: Run, at_work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    ended = run("report", "counted.json", "--tables", "tables", "--parquet")
    assert ended.code == 2
    assert "pip install 'diffprof[parquet]'" in ended.err
    assert written(at_work) == set()


def test_a_saved_profile_is_reported_without_torch(at_work: Path) -> None:
    code = (
        "import sys; sys.argv = ['diffprof', 'report', 'measured.json.gz', '-o', 'r.html', '--tables', 't', '-q'];"
        "from diffprof.cli import main; code = main(); print(code, 'torch' in sys.modules)"
    )
    assert run_child("-c", code).stdout == "0 False\n"


@pytest.mark.parametrize(("file", "option"), [("r.pdf", "--pdf"), ("r.PNG", "--png"), ("r.csv", "--tables")])
def test_a_page_is_not_written_under_another_ending(file: str, option: str, run: Run, at_work: Path) -> None:
    ended = run("report", "counted.json", "-o", file)
    assert ended.err == f"diffprof: error: -o writes an HTML page, such as report.html; for {file} use {option}.\n"
    assert (ended.code, written(at_work)) == (2, set())
