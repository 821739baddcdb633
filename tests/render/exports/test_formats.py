"""Every format is one entry, found by the ending of a file or by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import diffprof
from diffprof.render.exports.formats import ENDINGS, FORMATS, View, format_for, report_formats, write_export
from diffprof.render.exports.tables import profile_csv, run_csv
from diffprof.render.profile_console import profile_text
from diffprof.render.run_console import run_text
from diffprof.render.table_names import ProfileTable, RunTable
from tests.sample_profiles import everything_measured, stable_diffusion


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.json", "json"),
        ("A.JSON.GZ", "json"),
        ("a.b.csv", "csv"),
        ("a.txt", "text"),
        ("a.html", None),
        ("json", None),
    ],
)
def test_the_ending_of_a_file_selects_the_format(file: str, name: str | None) -> None:
    entry = format_for(Path("folder") / file)
    assert (entry.name if entry else None) == name


def test_each_format_is_reached_in_exactly_one_way() -> None:
    by_ending = {entry.name for entry in ENDINGS.values()}
    by_option = {entry.name for entry in report_formats()}
    assert by_ending | by_option == set(FORMATS)
    assert not by_ending & by_option
    assert len(ENDINGS) == sum(len(entry.endings) for entry in FORMATS.values())


def test_the_view_decides_which_table_is_written() -> None:
    counted, measured = stable_diffusion(), everything_measured()
    assert FORMATS["csv"].render(View(counted, ProfileTable.kind)) == profile_csv(counted, ProfileTable.kind)
    assert FORMATS["csv"].render(View(measured, RunTable.step)) == run_csv(measured, RunTable.step)
    assert FORMATS["csv"].render(View(measured, None)) == run_csv(measured, RunTable.section)
    assert FORMATS["text"].render(View(counted, width=80)) == profile_text(counted, 80)
    assert FORMATS["text"].render(View(measured, None)) == run_text(measured, 100)


@pytest.mark.parametrize("name", ["speedscope", "chrome-trace"])
def test_timelines_are_json(name: str) -> None:
    assert json.loads(FORMATS[name].render(View(everything_measured())))


@pytest.mark.parametrize("file", ["p.json", "p.json.gz"])
def test_a_written_profile_is_read_back(file: str, tmp_path: Path) -> None:
    write_export(View(stable_diffusion()), FORMATS["json"], tmp_path / file)
    assert diffprof.load(tmp_path / file) == stable_diffusion()
    assert ((tmp_path / file).read_bytes()[:2] == b"\x1f\x8b") == file.endswith(".gz")
