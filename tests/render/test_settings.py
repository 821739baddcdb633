"""The settings in effect, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from diffprof import settings as configuration
from diffprof.render.console import render_text
from diffprof.render.settings import COLUMNS, print_settings, settings_csv, settings_json
from diffprof.settings import Setting


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Setting]:
    monkeypatch.chdir(tmp_path)
    return configuration.settings()


def test_every_setting_has_a_row_with_its_source(settings: dict[str, Setting]) -> None:
    text = render_text(lambda console: print_settings(settings, [], console), 160)
    assert all(setting.option.key in text for setting in settings.values())
    assert "No file was read" in text


def test_files_that_were_read_are_named(settings: dict[str, Setting]) -> None:
    text = render_text(lambda console: print_settings(settings, [Path("a.toml"), Path("b.toml")], console), 160)
    assert text.endswith("Read: a.toml, b.toml\n")


def test_json_and_csv_have_every_setting(settings: dict[str, Setting]) -> None:
    keys = [setting.option.key for setting in settings.values()]
    assert list(json.loads(settings_json(settings, []))["settings"]) == keys
    rows = list(csv.DictReader(io.StringIO(settings_csv(settings))))
    assert [row["key"] for row in rows] == keys
    assert tuple(rows[0]) == COLUMNS
