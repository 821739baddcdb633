"""The help of the program as a whole is written without the library that parses options, and says what that does."""

from __future__ import annotations

import typer

from diffprof.cli.overview import OPTIONS, WIDTH, overview
from diffprof.cli.program import app
from tests.cli.conftest import Run


def test_every_option_of_the_parser_is_listed_with_its_sentence() -> None:
    parser = typer.main.get_command(app)
    parameters = parser.get_params(parser.make_context("diffprof", []))  # type: ignore[attr-defined]
    # Which of the names of an option comes first differs from run to run.
    expected = [(set(option.opts), option.help) for option in parameters]
    assert [(set(names.split(", ")), text) for names, text in OPTIONS.items()] == expected


def test_no_line_is_longer_than_a_terminal_is_wide() -> None:
    assert max(map(len, overview().splitlines())) <= WIDTH


def test_the_parser_gives_the_same_help(run: Run) -> None:
    assert run("--debug", "--help").out == run("--help").out == f"{overview()}\n"
    parser = typer.main.get_command(app)
    assert parser.get_help(typer.Context(parser)) == overview()  # type: ignore[arg-type]
