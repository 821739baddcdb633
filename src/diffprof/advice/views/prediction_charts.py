"""Charts of predicted times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.prediction.call_times import PIPELINE
from diffprof.record.prediction import Prediction
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    ROW,
    amount_axis,
    colours_of,
    colours_of_components,
    escape,
    graph_objects,
    make_chart,
    numbered_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_PARTS = 8
OTHER = "all else"


def times_chart(prediction: Prediction, by_kind: bool = False) -> Figure:
    """A bar for each accelerator, split by component or kind of operation, with the interval and the bound."""
    graph = graph_objects()
    names = sorted(prediction.accelerators, key=lambda name: prediction.accelerators[name].total_seconds)
    tables = {name: _parts(prediction, name, by_kind) for name in names}
    parts = _largest(tables)
    traces = [
        graph.Bar(
            name=escape(part), y=list(range(len(names))), x=[tables[name].get(part, 0.0) for name in names],
            orientation="h", marker={"color": colour},
            hovertext=[f"{escape(part)}: {numbers.estimate(tables[name].get(part, 0.0))}" for name in names],
            hoverinfo="text",
        )
        for part, colour in (colours_of(parts) if by_kind else _component_colours(parts)).items()
    ]  # fmt: skip
    times = [prediction.accelerators[name] for name in names]
    traces.append(
        graph.Scatter(
            name="interval", y=list(range(len(names))), x=[time.total_seconds for time in times], mode="markers",
            marker={"color": GREY, "size": 4},
            error_x={
                "type": "data", "symmetric": False, "color": GREY,
                "array": [time.high_seconds - time.total_seconds for time in times],
                "arrayminus": [time.total_seconds - time.low_seconds for time in times],
            },
        )
    )  # fmt: skip
    traces.append(
        graph.Scatter(
            name="no faster than", y=list(range(len(names))), x=[time.bound_seconds for time in times], mode="markers",
            marker={"symbol": "line-ns-open", "size": 14, "color": GREY},
        )
    )  # fmt: skip
    return make_chart(
        traces, ROW * len(names) + 140, barmode="stack", showlegend=True, xaxis=amount_axis("seconds", " s"),
        yaxis=numbered_axis(names),
    )  # fmt: skip


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
