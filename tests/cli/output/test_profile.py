"""Where a profile goes and in which format, checked before anything is counted."""

from __future__ import annotations

import csv
import errno
import io
import json
from pathlib import Path

import pytest

import diffprof
from diffprof.render.profile_console import profile_text
from tests.cli.conftest import Engine, Run
from tests.sample_profiles import stable_diffusion


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("none/p.json", "there is no folder"),
        (".", "it is a folder"),
        ("file/p.json", "file is not a folder"),
        ("n" * 300 + ".json", "File name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_rejected_before_anything_is_counted(
    place: str, reason: str, run: Run, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    ended = run("profile", "sdxl", "--json", "-o", str(tmp_path / place))
    assert (ended.code, engine.requests) == (1, [])
    assert "Cannot write" in ended.err
    assert reason in ended.err


def test_a_folder_that_takes_no_files_is_found_before_anything_is_counted(
    run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "touch", refuse)
    ended = run("profile", "sdxl", "-o", str(tmp_path / "p.json"))
    assert (ended.code, engine.requests) == (1, [])
    assert ended.err.endswith("p.json: Read-only file system.\n")


def test_checking_whether_a_file_can_be_written_leaves_nothing(run: Run, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    engine.failure = ValueError("surprise")
    run("profile", "sdxl", "-o", str(tmp_path / "place" / "p.json"))
    assert len(engine.requests) == 1
    assert list((tmp_path / "place").iterdir()) == []


def test_the_console_gets_the_table(run: Run, engine: Engine) -> None:
    assert run("profile", "sdxl").out == profile_text(stable_diffusion(), 100)


def test_json_is_the_saved_format_and_nothing_else(run: Run, engine: Engine) -> None:
    ended = run("profile", "sdxl", "--json")
    assert ended.err == ""
    assert diffprof.record.files.from_json(json.loads(ended.out)) == stable_diffusion()


def test_csv_is_the_requested_table(run: Run, engine: Engine) -> None:
    rows = list(csv.DictReader(io.StringIO(run("profile", "sdxl", "--csv", "--by", "kind").out)))
    assert rows[0]["kind"] == "convolution"


@pytest.mark.parametrize("name", ["p.json", "p.json.gz", "p.csv", "p.txt"])
def test_the_ending_of_a_file_decides_its_format(name: str, run: Run, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / name
    ended = run("profile", "sdxl", "-o", str(path))
    assert (ended.code, ended.out, ended.err) == (0, "", f"Wrote {path}\n")
    if ".json" in name:
        assert diffprof.load(path) == stable_diffusion()
    else:
        assert "unet" in path.read_text(encoding="utf-8")


def test_quiet_prints_nothing(run: Run, engine: Engine, tmp_path: Path) -> None:
    ended = run("profile", "sdxl", "-q", "-o", str(tmp_path / "p.json"))
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_depth_alone_asks_for_modules(run: Run, engine: Engine) -> None:
    assert "down_blocks" in run("profile", "sdxl", "--depth", "1").out
