"""Answers of ``fit``, ``predict`` and ``advise`` are printed again as they were printed at first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.advice.views.fit_views import fit_csv, fit_markdown
from diffprof.cli.output.answer import ResultOptions
from diffprof.cli.output.predictions import fit_answer
from tests.advice.views.answers import ADVICE, FIT
from tests.cli.conftest import Run


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_saved_answer_is_shown_in_every_format(command: str, run: Run, tmp_path: Path) -> None:
    file, page = tmp_path / "answer.json", tmp_path / "answer.html"
    words = (command, "sd-2.1-base", "--gpu", "l4")
    assert run(*words, "-o", str(file)).code == 0
    for way in ((), ("--csv",), ("--markdown",), ("--json",), ("--verbose",)):
        assert run("show", str(file), *way).out == run(*words, *way).out
    assert run("show", str(file), "-o", str(page)).err == f"Wrote {page}\n"
    assert "l4" in page.read_text()


def test_a_saved_advice_is_shown(run: Run, tmp_path: Path) -> None:
    file = ADVICE.save(tmp_path / "advice.json")
    shown = run("show", str(file))
    assert (shown.code, shown.err) == (0, "")
    assert "sdxl on l4" in shown.out


def test_a_word_that_no_answer_has_is_one_sentence(run: Run, tmp_path: Path) -> None:
    file = replace(ADVICE, goal="beauty").save(tmp_path / "advice.json")
    assert run("show", str(file)).err == (
        f"diffprof: error: {file}: goal must be one of time, memory, cost, energy, not 'beauty'.\n"
    )


def test_an_answer_has_no_tables_of_a_profile_and_is_not_compared(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    run("fit", "sd-2.1-base", "--gpu", "l4", "-o", str(file))
    assert run("show", str(file), "--by", "module").err == (
        f"diffprof: error: {file} is a result of `diffprof fit`; --by and --depth are for profiles.\n"
    )
    refused = run("compare", str(file), str(file))
    assert refused.code == 2
    assert "This is a result of `diffprof fit`, not a profile; print it with `diffprof show`." in refused.err


@pytest.mark.parametrize(
    ("ending", "content"), [(".csv", fit_csv(FIT)), (".md", fit_markdown(FIT)), (".json", FIT.to_json())]
)
def test_the_ending_of_a_file_sets_the_format_of_an_answer(ending: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / f"fit{ending}"
    ResultOptions(file=file, quiet=True).write(fit_answer(FIT, verbose=False))
    assert file.read_text() == content
