"""``diffprof config``: what is in force, and where it comes from."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from diffprof.config import OPTIONS
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("DIFFPROF_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_table_says_what_is_in_force_and_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("diffprof.toml").write_text("default_width = 640\n")
    monkeypatch.setenv("DIFFPROF_DEFAULT_STEPS", "7")
    ended = run("config")
    assert ended.code == 0, ended.err
    rows = {line.split()[0]: line.split() for line in ended.out.splitlines() if line and line[0] != " "}
    assert rows["default_steps"][1:3] == ["7", "DIFFPROF_DEFAULT_STEPS"]
    assert rows["default_width"][1:3] == ["640", "diffprof.toml"]
    assert rows["enable_compute_profiling"][1:3] == ["yes", "default"]
    assert rows["default_height"][1] == "-"
    assert ended.out.rstrip().endswith("Read: diffprof.toml")


def test_json_and_csv_have_every_setting(run: Run) -> None:
    values = json.loads(run("config", "--json").out)
    assert list(values["settings"]) == list(OPTIONS)
    assert values["settings"]["size_presets"]["value"]["square"] == [512, 512]
    assert values["settings"]["keep"] == {
        "value": False,
        "source": "default",
        "variable": "DIFFPROF_KEEP",
        "about": "Add every profile to the history.",
    }
    assert values["files"] == []
    rows = list(csv.DictReader(io.StringIO(run("config", "--csv").out)))
    assert [row["key"] for row in rows] == list(OPTIONS)


def test_without_a_file_it_says_which_would_be_read(run: Run) -> None:
    assert "No file was read; diffprof.toml here would be." in run("config").out


def test_a_wrong_setting_is_rejected_with_a_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_DTYPE", "int1")
    ended = run("config")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("diffprof: error: DIFFPROF_DTYPE must be one of float32")


def test_json_and_csv_exclude_each_other(run: Run) -> None:
    assert run("config", "--json", "--csv").code == 2
