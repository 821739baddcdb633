"""The printed table: what differs, what failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.record.request import Request
from diffprof.sweeps.records import SweepResult, Task, TaskOutcome
from diffprof.sweeps.run import run_sweep
from diffprof.sweeps.views.tables import sweep_text
from tests.sweeps.saved_sweeps import saved_sweep


@pytest.fixture
def result(tmp_path: Path) -> SweepResult:
    return run_sweep(saved_sweep(tmp_path))


def test_the_table_shows_the_settings_and_what_they_take(result: SweepResult) -> None:
    text = sweep_text(result)
    assert "Sweep: 4 points" in text
    assert all(word in text for word in ("512 x 512", "l4", "h100-sxm", "TMACs", "profile"))
    assert "dtype" not in text, "it is the same everywhere"


def test_a_long_table_is_cut_and_says_where_the_rest_is(result: SweepResult) -> None:
    text = sweep_text(replace(result, rows=result.rows * 100))
    assert "and 340 points more: -o sweep.csv writes them all" in text


def test_points_that_failed_for_one_reason_stand_together(result: SweepResult) -> None:
    failures = [TaskOutcome(Task(Request("sdxl", {"height": height})), error="too odd") for height in (1, 3, 5)]
    text = sweep_text(replace(result, failures=tuple(failures)))
    assert "3 requests failed" in text
    assert "- sdxl (height 1) and 2 more: too odd" in text
