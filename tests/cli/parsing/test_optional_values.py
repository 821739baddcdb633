"""Some options may stand alone, or with a value."""

from __future__ import annotations

import pytest
import typer

from diffprof.cli.commands import profile, run
from diffprof.record.changes import Changes


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["sdxl", "--ip-adapter"], "base"),
        (["--ip-adapter", "sdxl"], "base"),
        (["sdxl", "--ip-adapter", "--steps", "2"], "base"),
        (["sdxl", "--ip-adapter", "plus"], "plus"),
        (["sdxl"], None),
    ],
)
def test_an_ip_adapter_is_the_base_one_where_none_is_named(arguments: list[str], kind: str | None) -> None:
    context = typer.main.get_command(profile.app).make_context("profile", arguments)
    assert (context.params["model"], context.params["ip_adapter"]) == ("sdxl", kind)


def test_compiling_is_of_the_whole_where_nothing_else_is_said() -> None:
    command = typer.main.get_command(run.app)
    assert command.make_context("run", ["sdxl", "--compile"]).params["compile"] == "whole"
    assert command.make_context("run", ["--compile", "regional", "sdxl"]).params["compile"] == "regional"


def test_in_python_true_is_enough() -> None:
    assert Changes.create(ip_adapter=True).ip_adapter == "base"
