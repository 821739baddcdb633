"""Predicted times as a chart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.advice.views.prediction_charts import MOST_PARTS, OTHER, times_chart
from tests.advice.views.answers import PREDICTION, predicted_time


def test_bars_add_up_to_the_time_with_the_fastest_first() -> None:
    chart = times_chart(PREDICTION)
    bars = [trace for trace in chart.data if trace.type == "bar"]
    assert [sum(bar.x[place] for bar in bars) for place in range(2)] == pytest.approx([2, 8])
    interval, bound = (trace for trace in chart.data if trace.type == "scatter")
    assert list(interval.error_x.array) == pytest.approx([0.4, 1.6])
    assert list(bound.x) == pytest.approx([1.2, 4.8])


def test_the_smallest_parts_become_one() -> None:
    kinds = {f"kind {number}": 1.0 + number for number in range(MOST_PARTS + 2)}
    time = replace(predicted_time(1.0), kinds=kinds)
    bars = times_chart(replace(PREDICTION, accelerators={"l4": time}), by_kind=True).data[: MOST_PARTS + 1]
    assert (bars[-1].name, list(bars[-1].x)) == (OTHER, [1.0 + 2.0])
    assert sum(bar.x[0] for bar in bars) == sum(kinds.values())
