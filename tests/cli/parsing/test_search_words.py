"""A word that is no command is searched for."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    "arguments", [["flux", "--json"], ["--json", "flux"], ["--family", "flux", "--json", "flux"], ["--match", "flux"]]
)
def test_options_may_stand_on_either_side_of_the_word(arguments: list[str], run: Run) -> None:
    ended = run("models", *arguments)
    assert ended.code == 0
    assert "flux.1-dev" in ended.out
    assert "sdxl" not in ended.out


def test_two_words_are_refused_with_what_to_do(run: Run) -> None:
    ended = run("models", "flux", "dev")
    assert ended.code == 2
    assert "Give one WORD to search for, or `show NAME`." in ended.err
