"""A sweep as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diffprof.record.request import Request
from diffprof.render import numbers
from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import SweepResult
from diffprof.sweeps.views.page import sweep_html
from tests.sweeps.saved_sweeps import saved_sweep


def test_the_page_says_how_many_points_there_are_and_shows_them(tmp_path: Path) -> None:
    sweep = saved_sweep(tmp_path)
    rows = tuple(row for task in sweep.tasks() for row in evaluate(task).rows)
    page = sweep_html(SweepResult(replace(sweep, base=Request("")), rows))
    quickest, slowest = (choose(rows, key=lambda row: row.seconds or 0) for choose in (min, max))
    assert f"4 points: from {numbers.estimate(quickest.seconds or 0)} (" in page
    assert f" to {numbers.estimate(slowest.seconds or 0)} (" in page
    assert "chart-0" in page and "h100-sxm" in page


def test_names_are_text(tmp_path: Path) -> None:
    sweep = replace(saved_sweep(tmp_path, models=1), models=("<script>x",))
    assert "<script>x" not in sweep_html(SweepResult(sweep, ()))
