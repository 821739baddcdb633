"""Predicted times as a chart."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from diffprof.advice.views.prediction_charts import MOST_PARTS, OTHER, is_logarithmic, times_chart
from diffprof.record.prediction import Prediction
from tests.advice.views.answers import PREDICTION, predicted_time


def prediction(*seconds: float) -> Prediction:
    return replace(PREDICTION, accelerators={f"gpu-{one}": predicted_time(one) for one in seconds})


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


def test_the_axis_is_logarithmic_beside_a_very_slow_accelerator() -> None:
    slow = prediction(2.0, 11_520.0)
    axis = times_chart(slow).layout.xaxis
    assert is_logarithmic(slow) and axis.type == "log" and "logarithmic" in axis.title.text
    assert {"1 s", "1 min", "1 h"} <= set(axis.ticktext)
    assert not is_logarithmic(PREDICTION) and times_chart(PREDICTION).layout.xaxis.type != "log"


def test_a_logarithmic_axis_begins_before_every_mark_and_ends_behind_them() -> None:
    low, high = times_chart(prediction(2.0, 11_520.0)).layout.xaxis.range
    assert low < math.log10(0.6 * 2.0) and math.log10(1.2 * 11_520) < high


def test_colours_divide_a_logarithmic_bar_by_their_shares() -> None:
    chart = times_chart(prediction(2.0, 11_520.0))
    unet, vae = (trace for trace in chart.data if trace.type == "bar")
    start = chart.layout.xaxis.range[0]
    for place, seconds in enumerate((2.0, 11_520.0)):
        assert unet.x[place] + vae.x[place] == pytest.approx(seconds)
        width = math.log10(seconds) - start
        assert math.log10(unet.x[place]) - start == pytest.approx(0.75 * width)
    assert list(vae.hovertext) == ["vae: 500 ms", "vae: 48 min"]  # the times themselves


def test_times_below_a_second_have_their_unit_on_the_axis() -> None:
    assert "100 ms" in times_chart(prediction(0.1, 0.4)).layout.xaxis.ticktext


def test_a_chart_longer_than_a_screen_has_its_axis_above_and_below() -> None:
    chart = times_chart(prediction(*(float(1 + number) for number in range(30))))
    below, above = chart.layout.xaxis2, chart.layout.xaxis3
    assert (below.side, above.side, below.matches, above.matches) == ("bottom", "top", "x", "x")
    assert {"x2", "x3"} <= {trace.xaxis for trace in chart.data}  # an axis without a trace is not drawn
    assert "xaxis3" not in times_chart(PREDICTION).layout.to_plotly_json()


def test_parts_of_a_logarithmic_bar_cannot_be_hidden() -> None:
    assert times_chart(prediction(2.0, 11_520.0)).layout.legend.itemclick is False
    assert times_chart(PREDICTION).layout.legend.itemclick is None
