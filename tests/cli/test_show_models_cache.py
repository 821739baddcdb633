"""The commands that read what is there: ``show``, ``models`` and ``cache``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import diffprof
from diffprof import catalogue
from diffprof.record import cache
from diffprof.render.profile_console import profile_text
from diffprof.render.profile_tables import ProfileTable
from tests.cli.conftest import Run
from tests.profiles_made_by_hand import hostile, stable_diffusion


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(stable_diffusion().save(tmp_path / "p.json.gz"))


def test_show_prints_a_saved_profile(saved: str, run: Run) -> None:
    assert run("show", saved).out == profile_text(stable_diffusion(), 100)
    assert run("show", saved, "--by", "attention").out == profile_text(stable_diffusion(), 100, ProfileTable.attention)
    assert run("show", saved, "--depth", "2", "-v").out == profile_text(
        stable_diffusion(), 100, ProfileTable.module, 2, verbose=True
    )


def test_show_converts(saved: str, run: Run, tmp_path: Path) -> None:
    run("show", saved, "-o", str(tmp_path / "q.json"))
    assert diffprof.load(tmp_path / "q.json") == stable_diffusion()
    assert json.loads(run("show", saved, "--json").out)["total"]["macs"] == stable_diffusion().total.macs


def test_a_hostile_profile_cannot_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    path = str(hostile().save(tmp_path / "p.json"))
    for by in ProfileTable:
        ended = run("show", path, "--by", by.value, "--verbose")
        assert ended.code == 0
        assert "\x1b" not in ended.out


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": {"name": "diffprof-profile", "version": 9}}'])
def test_show_refuses_what_is_no_profile(content: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    ended = run("show", str(path))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert str(path) in ended.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.json", b"{", "make it again with `diffprof profile ... -o "),
        ("p.json.gz", b"{", "despite its name it is not compressed with gzip, make it again"),
        ("p.json.gz", b"\x1f\x8b\x08", "ends too early; make it again"),
        ("p.json", b'{"format": {"name": "diffprof-profile", "version": 1}}', "make it again"),
    ],
)
def test_show_says_how_to_replace_a_damaged_file(
    name: str, content: bytes, words: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    ended = run("show", str(tmp_path / name))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert words in ended.err


@pytest.mark.parametrize("content", ["{}", '{"format": {"name": "diffprof-profile", "version": 9}}'])
def test_a_file_that_is_not_damaged_is_not_to_be_made_again(content: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(content)
    assert "make it again" not in run("show", str(tmp_path / "p.json")).err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "unet.safetensors",
            b'\x10\x00\x00\x00\x00\x00\x00\x00{"__metadata__"\xff\xfe',
            "neither JSON nor any other text",
        ),
        ("picture.png", b"\x89PNG\r\n", "neither JSON nor any other text"),
        ("notes.txt", b"the cat was fast", "not valid JSON"),
        ("trace.json", b'{"traceEvents": []}', "read it with `diffprof trace`"),
    ],
)
def test_what_is_something_else_is_not_to_be_written_over(
    name: str, content: bytes, words: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    ended = run("show", str(tmp_path / name))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert words in ended.err
    assert "make it again" not in ended.err


def test_show_takes_the_folder_of_a_run(run: Run, tmp_path: Path) -> None:
    assert "name the profile in it" in run("show", str(tmp_path)).err
    stable_diffusion().save(tmp_path / "profiling_report.json")
    assert run("show", str(tmp_path), "--json") == run("show", str(tmp_path / "profiling_report.json"), "--json")


def test_show_of_a_models_name_says_how_to_count_it(run: Run) -> None:
    ended = run("show", "sdxl")
    assert ended.code == 2
    assert "count it with `diffprof profile sdxl`" in ended.err


def test_without_a_terminal_there_is_room_for_120(saved: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    assert run("show", saved).out == profile_text(stable_diffusion(), 120)


def test_the_list_of_models_says_what_it_leaves_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Columns that do not fit: " in run("models").out
    monkeypatch.setenv("COLUMNS", "300")
    assert "Not shown" not in run("models").out


@pytest.mark.parametrize("arguments", [["models"], ["models", "show", "sdxl"]])
def test_lines_about_models_have_no_spaces_at_their_ends(arguments: list[str], run: Run) -> None:
    lines = run(*arguments).out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_source_is_never_broken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    entry = catalogue.find("sdxl")
    assert entry is not None
    assert f"from {entry.source}\n" in run("models", "show", "sdxl").out


def test_show_says_that_a_file_is_not_there(run: Run) -> None:
    ended = run("show", "none.json")
    assert ended.code == 2
    assert "none.json" in ended.err


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


def test_show_model_tells_everything(run: Run) -> None:
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
def test_a_model_that_is_not_there_is_refused_with_the_nearest_names(arguments: list[str], run: Run) -> None:
    ended = run("models", *arguments)
    assert ended.code == 2
    assert "sdxl" in ended.err


def test_the_cache_can_be_looked_at_and_emptied(run: Run, own_cache: Path) -> None:
    cache.write("a" * 64, stable_diffusion())
    assert f"{own_cache}: 1 profile, " in run("cache", "info").out
    assert run("cache").out == run("cache", "info").out
    assert "removed 1 profile, " in run("cache", "clear").out
    assert f"{own_cache}: 0 profiles, 0 B\n" == run("cache", "info").out
