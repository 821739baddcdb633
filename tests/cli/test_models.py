"""``diffprof models`` and ``diffprof models show``."""

from __future__ import annotations

import csv
import io
import json

import pytest

from diffprof import catalogue
from tests.cli.conftest import Run


def test_the_list_of_models_says_what_it_leaves_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Columns that do not fit: " in run("models").out
    monkeypatch.setenv("COLUMNS", "300")
    assert "Columns that do not fit" not in run("models").out


@pytest.mark.parametrize("arguments", [["models"], ["models", "show", "sdxl"]])
def test_lines_about_models_have_no_spaces_at_their_ends(arguments: list[str], run: Run) -> None:
    lines = run(*arguments).out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_source_is_never_wrapped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    entry = catalogue.find("sdxl")
    assert entry is not None
    assert f"from {entry.source}\n" in run("models", "show", "sdxl").out


def test_models_lists_every_model(run: Run) -> None:
    names = ["shapes", *(entry.name for entry in catalogue.entries())]
    shown = run("models").out
    assert all(name in shown for name in names)
    assert [row["name"] for row in json.loads(run("models", "--json").out)] == names
    assert [row["name"] for row in csv.DictReader(io.StringIO(run("models", "--csv").out))] == names


@pytest.mark.parametrize("arguments", [["flux"], ["--match", "FLUX"]])
def test_a_word_narrows_the_list(arguments: list[str], run: Run) -> None:
    names = [row["name"] for row in json.loads(run("models", *arguments, "--json").out)]
    assert "flux.1-dev" in names
    assert "sdxl" not in names


def test_options_may_stand_before_the_word(run: Run) -> None:
    assert run("models", "--json", "flux") == run("models", "flux", "--json")


def test_a_model_is_shown_with_everything_that_is_known(run: Run) -> None:
    shown = " ".join(run("models", "show", "Stabilityai/Stable-Diffusion-2-1-Base").out.split())
    entry = catalogue.find("sd-2.1-base")
    assert entry is not None
    for part in entry.components.values():
        assert part.class_name in shown
    assert "865,910,724 parameters" in shown
    assert "cross_attention_dim = 1024" in shown
    assert "Unconfirmed" in shown


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_every_model_can_be_shown(entry: catalogue.Entry, run: Run) -> None:
    assert run("models", "show", entry.name).code == 0
    values = json.loads(run("models", "show", entry.name, "--json").out)
    assert values["hub_id"] == entry.hub_id
    assert values["components"].keys() == entry.components.keys()


@pytest.mark.parametrize("arguments", [["show", "sdlx"], ["sdlx"]])
def test_a_model_that_is_not_there_is_rejected_with_the_nearest_names(arguments: list[str], run: Run) -> None:
    ended = run("models", *arguments)
    assert ended.code == 2
    assert "sdxl" in ended.err
