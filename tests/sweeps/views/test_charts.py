"""A sweep as a chart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffprof.sweeps.evaluate import evaluate
from diffprof.sweeps.records import Row, SweepResult
from diffprof.sweeps.views.charts import sweep_chart
from tests.sweeps.saved_sweeps import saved_sweep


@pytest.fixture
def result(tmp_path: Path) -> SweepResult:
    sweep = saved_sweep(tmp_path)
    return SweepResult(sweep, tuple(row for task in sweep.tasks() for row in evaluate(task).rows))


def with_rows(result: SweepResult, *changes: dict[str, Any]) -> SweepResult:
    first: Row = result.rows[0]
    return replace(result, rows=tuple(replace(first, **change) for change in changes))


def test_the_chart_has_a_line_for_each_accelerator_over_the_steps(result: SweepResult) -> None:
    chart = sweep_chart(result)
    assert chart is not None
    assert [line.name for line in chart.data] == ["l4", "h100-sxm"]
    assert list(chart.data[0].x) == [10, 11]
    assert list(chart.data[0].y) == [row.seconds for row in result.rows if row.gpu == "l4"]


def test_one_point_has_no_chart(result: SweepResult) -> None:
    assert sweep_chart(replace(result, rows=result.rows[:1])) is None


def test_squares_are_lines_over_their_height(result: SweepResult) -> None:
    sides = [{"height": side, "width": side, "dtype": dtype} for side in (768, 512) for dtype in ("float16", "float32")]
    chart = sweep_chart(with_rows(result, *sides))
    assert chart is not None
    assert [line.name for line in chart.data] == ["float16", "float32"]
    assert list(chart.data[0].x) == [512, 768]  # in order, however the points came


def test_what_each_model_has_one_of_is_not_in_the_names_of_the_lines(result: SweepResult) -> None:
    rows = [
        {"model": model, "guidance": guidance, "steps": steps}
        for model, guidance in (("a", 3.5), ("b", 5.0))
        for steps in (10, 20)
    ]
    chart = sweep_chart(with_rows(result, *rows))
    assert chart is not None and [line.name for line in chart.data] == ["a", "b"]


def test_memory_is_drawn_in_the_unit_of_the_table(result: SweepResult) -> None:
    rows = [{"height": side, "width": side, "allocated_bytes": side << 21} for side in (512, 1024)]
    chart = sweep_chart(with_rows(result, *rows), "allocated_bytes")
    assert chart is not None and list(chart.data[0].y) == [1, 2]
    assert chart.layout.yaxis.ticksuffix == " GiB"
    assert chart.layout.xaxis.title.text == "side of the image in pixels"


def test_without_times_the_macs_are_drawn(result: SweepResult) -> None:
    rows = [{"steps": steps, "macs": 7 * steps, "seconds": None} for steps in (1, 2)]
    chart = sweep_chart(with_rows(result, *rows))
    assert chart is not None and list(chart.data[0].y) == [7, 14]
    assert sweep_chart(with_rows(result, *rows), "seconds") is None
