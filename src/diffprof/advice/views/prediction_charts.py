"""Charts of predicted times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.prediction.call_times import PIPELINE
from diffprof.record.prediction import PredictedTime, Prediction
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    ROW,
    colours_of,
    colours_of_components,
    escape,
    graph_objects,
    make_chart,
    numbered_axis,
    time_axis,
    time_text,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_PARTS = 8
OTHER = "all else"
MOST_TIMES_SLOWER = 40
"""If the slowest accelerator is slower than that, the axis is logarithmic: else the bar of the fastest has no width."""
LOGARITHMIC = "The axis is logarithmic. The colours divide each bar by their share of its time."
MOST_ON_SCREEN = 20
"""With more bars than fit on a screen, they are lower, and the axis is also above them."""
LOW_ROW = 22
AROUND = 140
"""Height of the axis and the legend."""
SECOND_AXIS = 64
"""More height for an axis above the bars."""
LONG_TIMES = {60: "1 min", 600: "10 min", 3600: "1 h", 36_000: "10 h", 360_000: "100 h"}
"""Ticks of a logarithmic axis, beyond 10 seconds."""


def times_chart(prediction: Prediction, by_kind: bool = False) -> Figure:
    """A bar for each accelerator, split by component or kind of operation, with the interval and the bound."""
    names = sorted(prediction.accelerators, key=lambda name: prediction.accelerators[name].total_seconds)
    times = [prediction.accelerators[name] for name in names]
    tables = {name: _parts(prediction, name, by_kind) for name in names}
    parts = _largest(tables)
    least = _least_seconds(times) if is_logarithmic(prediction) else None
    is_long = len(names) > MOST_ON_SCREEN
    rows = list(tables.values())
    colours = colours_of(parts) if by_kind else _component_colours(parts)
    axis = _linear_axis(times) if least is None else _logarithmic_axis(times, least)
    axes = _axes_on_both_sides(axis) if is_long else {"xaxis": axis}
    height = (LOW_ROW if is_long else ROW) * len(names) + AROUND + (SECOND_AXIS if is_long else 0)
    return make_chart(
        [*_bars(rows, colours, least), *_marks(times, is_long)], height, barmode="stack", showlegend=True,
        yaxis=numbered_axis(names), legend=_legend(height, is_long, least is not None), **axes,
    )  # fmt: skip


def is_logarithmic(prediction: Prediction) -> bool:
    """Whether the slowest is so slow that beside it the fastest could not be seen."""
    totals = [time.total_seconds for time in prediction.accelerators.values()]
    return min(totals) > 0 and max(totals) > MOST_TIMES_SLOWER * min(totals)


def _bars(rows: Sequence[Mapping[str, float]], colours: Mapping[str, str], least: float | None) -> list[Any]:
    """The bars of each part; on a logarithmic axis from these least seconds on."""
    graph = graph_objects()
    lengths = rows if least is None else [_divided(row, list(colours), least) for row in rows]
    return [
        graph.Bar(
            name=escape(part), y=list(range(len(rows))), x=[row.get(part, 0.0) for row in lengths],
            orientation="h", marker={"color": colour},
            hovertext=[f"{escape(part)}: {numbers.estimate(row.get(part, 0.0))}" for row in rows], hoverinfo="text",
        )
        for part, colour in colours.items()
    ]  # fmt: skip


def _divided(row: Mapping[str, float], parts: Sequence[str], least: float) -> dict[str, float]:
    """Lengths with the same sum, whose parts on a logarithmic axis are as wide as their shares of that sum."""
    total = sum(row.values())
    lengths, done, before = {}, 0.0, 0.0
    for part in parts:
        done += row.get(part, 0.0)
        end = least * (total / least) ** (done / total) if total else 0.0
        lengths[part] = end - before
        before = end
    return lengths


def _marks(times: Sequence[PredictedTime], is_long: bool) -> list[Any]:
    """The interval and the lower bound of each time; in a long chart each has the axis of one side, which shows it."""
    graph = graph_objects()
    interval = graph.Scatter(
        name="interval", y=list(range(len(times))), x=[time.total_seconds for time in times], mode="markers",
        marker={"color": GREY, "size": 4},
        error_x={
            "type": "data", "symmetric": False, "color": GREY,
            "array": [time.high_seconds - time.total_seconds for time in times],
            "arrayminus": [time.total_seconds - time.low_seconds for time in times],
        },
        xaxis="x2" if is_long else "x",
    )  # fmt: skip
    bound = graph.Scatter(
        name="no faster than", y=list(range(len(times))), x=[time.bound_seconds for time in times], mode="markers",
        marker={"symbol": "line-ns-open", "size": 14, "color": GREY},
        xaxis="x3" if is_long else "x",
    )  # fmt: skip
    return [interval, bound]


def _least_seconds(times: Sequence[PredictedTime]) -> float:
    """Where a logarithmic axis begins: left of every mark."""
    shown = [seconds for time in times for seconds in (time.bound_seconds, time.low_seconds, time.total_seconds)]
    return min(seconds for seconds in shown if seconds > 0) / 2


def _linear_axis(times: Sequence[PredictedTime]) -> dict[str, Any]:
    return time_axis("time", 1e9 * _most_seconds(times))


def _logarithmic_axis(times: Sequence[PredictedTime], least: float) -> dict[str, Any]:
    """An axis of times with a tick at round ones, about a factor of ten apart."""
    most = 1.2 * _most_seconds(times)
    powers = [10.0**power for power in range(math.floor(math.log10(least)), 2)]
    ticks = {seconds: time_text(seconds) for seconds in powers} | LONG_TIMES
    return {
        "type": "log", "title": {"text": "time, logarithmic"}, "range": [math.log10(least), math.log10(most)],
        "tickmode": "array", "tickvals": list(ticks), "ticktext": list(ticks.values()),
    }  # fmt: skip


def _most_seconds(times: Sequence[PredictedTime]) -> float:
    return max(max(time.high_seconds, time.total_seconds) for time in times)


def _axes_on_both_sides(axis: Mapping[str, Any]) -> dict[str, Any]:
    """The axis below and above the bars: who reads the first bars does not see the last.

    The axis of the bars has no labels, because a narrow screen never turns its labels upright.
    """
    side = {**axis, "overlaying": "x", "matches": "x", "showgrid": False}
    return {
        "xaxis": {**axis, "showticklabels": False, "title": None},
        "xaxis2": {**side, "side": "bottom"},
        "xaxis3": {**side, "side": "top", "title": None},
    }


def _legend(height: int, is_long: bool, is_whole: bool) -> dict[str, Any]:
    """The legend, above the upper axis; bars on a logarithmic axis would be wrong without one of their parts."""
    place = {"y": 1 + SECOND_AXIS / height} if is_long else {}
    return {**place, **({"itemclick": False, "itemdoubleclick": False} if is_whole else {})}


def _component_colours(parts: list[str]) -> dict[str, str]:
    own = colours_of_components([part for part in parts if part not in (PIPELINE, OTHER)])
    return {part: own.get(part, GREY) for part in parts}


def _parts(prediction: Prediction, name: str, by_kind: bool) -> dict[str, float]:
    time = prediction.accelerators[name]
    if by_kind:
        return dict(time.kinds)
    return {slot: part.total_seconds for slot, part in time.components.items()}


def _largest(tables: dict[str, dict[str, float]]) -> list[str]:
    """The largest parts; the rest of each bar becomes one part."""
    most: dict[str, float] = {}
    for table in tables.values():
        for part, seconds in table.items():
            most[part] = max(most.get(part, 0.0), seconds)
    kept = sorted(most, key=lambda part: -most[part])[:MOST_PARTS]
    if len(most) > len(kept):
        for table in tables.values():
            table[OTHER] = sum(seconds for part, seconds in table.items() if part not in kept)
        kept.append(OTHER)
    return kept
