"""``diffprof show`` prints a saved profile, and says what is wrong with a file that is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import diffprof
from diffprof.render.profile_console import profile_text
from diffprof.render.table_names import ProfileTable
from tests.cli.conftest import Run
from tests.sample_profiles import hostile, stable_diffusion


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
def test_show_rejects_a_file_that_is_not_a_profile(content: str, run: Run, tmp_path: Path) -> None:
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
    name: str, content: bytes, words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    ended = run("show", name)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert words in ended.err


@pytest.mark.parametrize("content", ["{}", '{"format": {"name": "diffprof-profile", "version": 9}}'])
def test_a_file_that_is_not_damaged_need_not_be_made_again(content: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(content)
    ended = run("show", str(tmp_path / "p.json"))
    assert ended.code == 2
    assert "make it again" not in ended.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "unet.safetensors",
            b'\x10\x00\x00\x00\x00\x00\x00\x00{"__metadata__"\xff\xfe',
            "not JSON",
        ),
        ("picture.png", b"\x89PNG\r\n", "not JSON"),
        ("notes.txt", b"the cat was fast", "not valid JSON"),
        ("trace.json", b'{"traceEvents": []}', "read it with `diffprof trace`"),
    ],
)
def test_a_file_of_another_kind_is_not_to_be_overwritten(
    name: str, content: bytes, words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    ended = run("show", name)
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


def test_show_says_that_a_file_is_not_there(run: Run) -> None:
    ended = run("show", "none.json")
    assert ended.code == 2
    assert "none.json" in ended.err
