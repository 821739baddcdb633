"""The list of commands: help, version, and names that are no command."""

from __future__ import annotations

from importlib import import_module

import pytest

import diffprof
from diffprof.cli.overview import COMMANDS
from tests.children import run_child
from tests.cli.conftest import Run


def test_without_a_command_there_is_help(run: Run) -> None:
    ended = run()
    assert ended.code == 0
    assert ended == run("--help")
    unwrapped = " ".join(ended.out.split())
    for command, sentence in COMMANDS.items():
        assert f"{command} {sentence}" in unwrapped


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_module_whose_help_starts_as_listed(command: str, run: Run) -> None:
    assert import_module(f"diffprof.cli.commands.{command}").app
    ended = run(command, "--help")
    assert ended.code == 0
    assert COMMANDS[command] in " ".join(ended.out.split())


@pytest.mark.parametrize("command", [[], ["profile"], ["models", "show"]])
def test_help_has_a_short_name(command: list[str], run: Run) -> None:
    assert run(*command, "-h") == run(*command, "--help")


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").out == f"diffprof {diffprof.__version__}\n"


def test_help_imports_neither_rich_nor_the_commands() -> None:
    code = (
        "import sys; sys.argv = ['diffprof', '--help']; from diffprof.cli import main; main(); "
        "assert not {'rich', 'json', 'typer', 'diffprof.cli.commands.profile', 'diffprof.record'} & set(sys.modules)"
    )
    run_child("-c", code)
