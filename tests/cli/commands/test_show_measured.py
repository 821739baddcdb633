"""``diffprof show`` of a run that was measured."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from diffprof.render.profile_console import profile_text
from diffprof.render.run_console import run_text
from diffprof.render.table_names import ProfileTable, RunTable
from tests.cli.conftest import Run
from tests.sample_profiles import measured_profile, stable_diffusion


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(measured_profile().save(tmp_path / "run.json"))


def test_what_was_measured_comes_first(saved: str, run: Run) -> None:
    assert run("show", saved).out == run_text(measured_profile(), 100)
    assert run("show", saved, "-v").out == run_text(measured_profile(), 100, verbose=True)


@pytest.mark.parametrize("by", list(RunTable))
def test_each_table_can_be_requested(by: RunTable, saved: str, run: Run) -> None:
    assert run("show", saved, "--by", by.value).out == run_text(measured_profile(), 100, by)


@pytest.mark.parametrize("by", [ProfileTable.kind, ProfileTable.module, ProfileTable.attention, ProfileTable.call])
def test_what_was_counted_is_there_too(by: ProfileTable, saved: str, run: Run) -> None:
    assert run("show", saved, "--by", by.value).out == profile_text(measured_profile(), 100, by)


def test_a_depth_asks_for_modules(saved: str, run: Run) -> None:
    assert run("show", saved, "--depth", "2").out == profile_text(measured_profile(), 100, ProfileTable.module, 2)
    refused = run("show", saved, "--depth", "2", "--by", "section")
    assert (refused.code, refused.out) == (2, "")
    assert "--depth is for --by module" in refused.err


def test_csv_is_by_section_unless_another_table_is_requested(saved: str, run: Run) -> None:
    sections = list(csv.DictReader(io.StringIO(run("show", saved, "--csv").out)))
    assert sections[0]["section"] == "unet_forward"
    steps = list(csv.DictReader(io.StringIO(run("show", saved, "--csv", "--by", "step").out)))
    assert [row["number"] for row in steps] == ["0", "1", "2", "3"]


def test_a_text_file_has_the_same(saved: str, run: Run, tmp_path: Path) -> None:
    assert run("show", saved, "-o", str(tmp_path / "run.txt")).code == 0
    assert (tmp_path / "run.txt").read_text(encoding="utf-8") == run_text(measured_profile(), 100)


@pytest.mark.parametrize("by", ["section", "step", "memory", "peak", "cache", "move"])
def test_a_profile_that_was_only_counted_has_no_such_table(by: str, run: Run, tmp_path: Path) -> None:
    path = str(stable_diffusion().save(tmp_path / "p.json"))
    ended = run("show", path, "--by", by)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"was counted, not measured, so it has no table by {by}" in ended.err
