"""Options get the same values with and without the library that converts them."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pytest
import typer

from diffprof.cli.parsing.plain_values import skip_needless_conversions

Given = tuple[Any, ...]


def command_that_keeps(given: list[Given]) -> Any:
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

    @app.command()
    def keep(
        name: str,
        title: str | None = None,
        number: int | None = None,
        on: Annotated[bool, typer.Option("--on")] = False,
        parts: Annotated[list[str] | None, typer.Option("--part")] = None,
        length: Annotated[int | None, typer.Option(parser=len)] = None,
    ) -> None:
        given.append((name, title, number, on, parts, length))

    return typer.main.get_command(app)


@pytest.mark.parametrize(
    "arguments",
    [
        ["a"],
        ["a", "--title", "ä", "--on"],
        ["a", "--part", "b", "--part", "c"],
        ["a", "--number", "7"],
        ["a", "--length", "four"],
        ["\udcff", "--part", "\udcff"],
    ],
)
def test_values_are_the_same(arguments: list[str]) -> None:
    given: list[Given] = []
    command_that_keeps(given)(arguments, standalone_mode=False)
    plain = command_that_keeps(given)
    skip_needless_conversions(plain.params)
    plain(arguments, standalone_mode=False)
    assert given[0] == given[1]


def test_what_cannot_be_converted_is_refused() -> None:
    plain = command_that_keeps([])
    skip_needless_conversions(plain.params)
    with pytest.raises(Exception, match="valid integer") as refused:
        plain(["a", "--number", "seven"], standalone_mode=False)
    assert hasattr(refused.value, "format_message")


def test_a_profile_by_law_needs_no_library_for_conversions() -> None:
    arguments = ["diffprof", "profile", "flux.1-dev", "--height", "512", "--width", "512", "--no-cache"]
    program = f"import sys; from diffprof.cli import main; sys.argv = {arguments}; main(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not {"pydantic", "torch"} & {*out.splitlines()[-1].split()}
