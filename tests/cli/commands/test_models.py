"""``diffprof models`` and ``diffprof models show``."""

from __future__ import annotations

import csv
import io
import json
import shutil
from itertools import count
from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.catalogue.bundled_model import shapes_entry, shapes_folder
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


def test_years_and_licences_that_no_file_confirms_are_marked(run: Run) -> None:
    shown = " ".join(run("models", "show", "flux.1-dev").out.split())
    assert "year and licence: no published file was available" in shown
    assert json.loads(run("models", "show", "flux.1-dev", "--json").out)["unconfirmed_facts"] == ["year", "licence"]
    assert "Years and licences are unconfirmed" in run("models").out
    assert "year and licence" not in run("models", "show", "shapes").out


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_every_count_of_parameters_was_compared_with_a_published_one_or_is_marked(
    entry: catalogue.Entry, run: Run
) -> None:
    marked = json.loads(run("models", "show", entry.name, "--json").out)["unconfirmed_counts"]
    for slot, part in entry.components.items():
        if part.parameters and entry.hub_id:
            assert (slot in marked) is not bool(part.published)


def test_counts_without_a_published_one_are_marked_where_people_read_them(run: Run) -> None:
    shown = " ".join(run("models", "show", "kolors").out.split())
    assert "parameters of text_encoder, unet, vae: counted from the configuration" in shown
    assert "parameters of" not in run("models", "show", "shapes").out


def test_models_are_listed_by_family_task_year_and_licence(run: Run) -> None:
    rows = json.loads(run("models", "--family", "flux", "--task", "text-to-image", "--json").out)
    assert {"flux.1-dev", "flux.1-schnell"} <= {row["name"] for row in rows}
    assert {(row["family"], row["task"]) for row in rows} == {("flux", "text-to-image")}
    rows = json.loads(run("models", "klein", "--year", "2026", "--licence", "apache", "--json").out)
    assert [row["name"] for row in rows] == ["flux.2-klein-4b"]
    ended = run("models", "--task", "upscale")
    assert (ended.code, "did you mean upscaling?" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("flux2", "flux.2-dev"),
        ("flux2-klein", "flux.2-klein-4b"),
        ("qwen-edit", "qwen-image-edit"),
        ("z-image", "z-image"),
        ("zimage-turbo", "z-image-turbo"),
        ("wan22", "wan2.2-t2v-a14b"),
        ("wan2.2_i2v_a14b", "wan2.2-i2v-a14b"),
        ("sdxl-turbo", "sdxl-turbo"),
        ("svd", "svd-xt"),
        ("kontext", "flux.1-kontext-dev"),
        ("stabilityai/SD-Turbo", "sd-turbo"),
        ("flux", "flux.1-dev"),
        ("sd15", "sd-1.5"),
        ("sd3.5-turbo", "sd3.5-large-turbo"),
        ("wan21", "wan2.1-t2v-14b"),
        ("ltxv", "ltx-video"),
        ("black-forest-labs/FLUX.1-Krea-dev", "flux.1-krea-dev"),
    ],
)
def test_models_are_found_by_the_names_that_people_type(typed: str, meant: str) -> None:
    entry = catalogue.find(typed)
    assert entry is not None
    assert entry.name == meant


def test_a_folder_gets_a_name_that_commands_know(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "entries"))
    shutil.copytree(shapes_folder(), tmp_path / "Our Model")
    ended = run(
        "models", "add", str(tmp_path / "Our Model"), "--recommend", "num_inference_steps=3", "--task", "control"
    )
    assert (ended.code, ended.err) == (0, f"Wrote {tmp_path / 'entries' / 'our-model.toml'}\n")
    assert run("models", "add", str(tmp_path / "Our Model"), "-q").code == 2
    assert run("models", "add", str(tmp_path / "Our Model"), "-q", "--force", "--name", "ours").code == 0
    assert [row["name"] for row in json.loads(run("models", "--json").out)][1:3] == ["our-model", "ours"]
    profile = json.loads(run("profile", "our-model", "--json").out)
    assert profile["request"]["recommended"] == ["num_inference_steps"]
    assert profile["total"]["parameters"] == shapes_entry().parameters


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sdxl"], "sdxl is already the name of a model"),
        (["sdxl", "--name", "mine"], "sdxl is already in the catalogue"),
        (["./nothing-here"], "There is no folder ./nothing-here"),
        (["me/model", "--name", "Not A Name"], "cannot be the name of a model"),
        (["me/model", "--recommend", "steps"], "--set takes KEY=VALUE"),
    ],
)
def test_what_cannot_be_added_is_refused(arguments: list[str], message: str, run: Run) -> None:
    ended = run("models", "add", *arguments)
    assert ended.code == 2
    assert message in ended.err


def test_a_folder_that_takes_too_long_is_not_added(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "entries"))
    monkeypatch.setattr("diffprof.pipelines.describing.describe_source", _never_end)
    ended = run("models", "add", str(shapes_folder()), "--name", "slow", "--limit-time", "0.1")
    assert ended.code == 1
    assert "takes more than 0.1 seconds of the processor" in ended.err
    assert not (tmp_path / "entries").exists()


def _never_end(*_: object, **__: object) -> None:
    for _number in count():
        pass
