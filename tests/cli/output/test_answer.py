"""Where the answer of a command goes, and as what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.cli.output.answer import Answer, AnswerOptions, PageOptions, ResultOptions
from diffprof.errors import OutputError, RequestError
from tests.cli.conftest import Run

ANSWER = Answer(
    lambda console: console.print("for people"),
    lambda: "json\n",
    lambda: "csv\n",
    lambda: "markdown\n",
    {".html": lambda: b"page\n"},
)


@pytest.mark.parametrize("name", ["json", "csv", "markdown"])
def test_one_format_goes_to_standard_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    AnswerOptions(**{name: True}).write(ANSWER)
    assert capsys.readouterr() == (f"{name}\n", "")


def test_without_a_format_it_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    options = AnswerOptions()
    options.write(ANSWER)
    assert options.is_console
    assert capsys.readouterr().out == "for people\n"


@pytest.mark.parametrize(
    ("ending", "content"),
    [(".json", "json"), (".csv", "csv"), (".md", "markdown"), (".txt", "for people"), (".HTML", "page")],
)
def test_the_ending_of_a_file_sets_its_format(
    ending: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"answer{ending}"
    options = PageOptions(file=file)
    options.check()
    options.write(ANSWER)
    assert file.read_text() == f"{content}\n"
    assert capsys.readouterr() == ("", f"Wrote {file}\n")


def test_a_quiet_command_does_not_say_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    AnswerOptions(file=tmp_path / "answer.md", quiet=True).write(ANSWER)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (AnswerOptions(json=True, csv=True), "--json and --csv exclude each other; choose one."),
        (AnswerOptions(file=Path("x.html")), "Cannot tell the format of x.html; use one of .json, .csv, .md, .txt."),
        (PageOptions(file=Path("x.docx")), "use one of .json, .csv, .md, .txt, .html."),
        (AnswerOptions(file=Path("x.csv"), markdown=True), "The ending of the file sets the format; leave out --json"),
    ],
)
def test_contradictions_are_refused_before_the_work(options: AnswerOptions, sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        options.check()
    assert sentence in str(refused.value)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder"):
        AnswerOptions(file=tmp_path / "missing" / "x.csv").check()


def test_an_answer_that_rests_on_assumptions_can_list_them(tmp_path: Path) -> None:
    options = ResultOptions(file=tmp_path / "answer.html", verbose=True)
    options.check()
    with pytest.raises(RequestError, match="Cannot tell the format of"):
        ResultOptions(file=tmp_path / "answer.xlsx").check()


@pytest.mark.parametrize(
    "command",
    ["models", "models show sdxl", "hardware", "hardware show l4", "config", "history list", "cache info"],
)
def test_lists_are_written_like_every_other_answer(
    command: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_HISTORY", str(tmp_path / "history.sqlite"))
    words = command.split()
    file = tmp_path / "list.md"
    assert run(*words, "--markdown").code == 0
    ended = run(*words, "-o", str(file), "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert file.read_text() == run(*words, "--markdown").out
    assert json.loads(run(*words, "--json").out) is not None
    assert "," in run(*words, "--csv").out.splitlines()[0]
