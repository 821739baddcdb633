"""The charts of traces have the numbers of the facts, and are left out where there is nothing to draw."""

from __future__ import annotations

import pytest

from diffprof.traces import TraceExplanation, compare_traces
from diffprof.traces.views import charts
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps


@pytest.fixture
def explanation(explain_built: Explain) -> TraceExplanation:
    return explain_built(two_denoising_steps())


def test_the_parts_of_the_timeline_add_up_to_one(explanation: TraceExplanation) -> None:
    chart = charts.activity_chart(explanation.activity[0])
    assert chart is not None
    totals = [sum(shares) for shares in zip(*(bar.y for bar in chart.data), strict=True)]
    assert totals == pytest.approx([1] * len(totals), abs=1e-4)


def test_each_gap_is_a_point_of_its_cause(explanation: TraceExplanation) -> None:
    chart = charts.gaps_chart(explanation)
    assert chart is not None
    assert {points.name: len(points.x) for points in chart.data} == {"host too slow": 2, "host waited": 3}


def test_kinds_of_work_and_steps_have_their_times(explanation: TraceExplanation) -> None:
    kinds, steps = charts.kinds_chart(explanation), charts.steps_chart(explanation)
    assert kinds is not None
    assert steps is not None
    assert dict(zip(kinds.data[0].y, kinds.data[0].x, strict=True))["gemm"] == pytest.approx(0.0002)
    assert [bar.name for bar in steps.data] == ["host", "GPU busy"]


def test_memory_has_a_curve_for_allocated_and_reserved_bytes(explanation: TraceExplanation) -> None:
    chart = charts.memory_chart(explanation)
    assert chart is not None
    assert [curve.name for curve in chart.data] == ["allocated on cuda:0", "reserved on cuda:0"]


def test_two_traces_are_two_bars(explanation: TraceExplanation) -> None:
    chart = charts.changes_chart(compare_traces(explanation, explanation).timeline)
    assert chart is not None
    assert all(len(bar.x) == 2 and bar.x[0] == bar.x[1] for bar in chart.data)


def test_without_gpu_work_there_is_nothing_to_draw(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 10)
    explanation = explain_built(builder)
    drawn = (charts.gaps_chart, charts.kinds_chart, charts.steps_chart, charts.memory_chart)
    assert [chart(explanation) for chart in drawn] == [None] * 4
    assert charts.changes_chart(compare_traces(explanation, explanation).timeline) is None
