"""Charts of a sweep: time, memory or MACs over the number that varies most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diffprof.render import numbers
from diffprof.render.charts.style import amount_axis, colours_of, escape, graph_objects, make_chart
from diffprof.sweeps.records import Row, SweepResult

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 460
MAX_LINES = 40

NUMBERS = {
    "height": "height", "width": "width", "frames": "frames", "batch": "images per prompt", "steps": "steps",
    "guidance": "guidance scale",
}  # fmt: skip
"""Columns that can be the horizontal axis, with its title."""

GIB = 1024**3
AMOUNTS = {"seconds": "time", "allocated_bytes": "memory", "macs": "MACs"}
"""Columns that can be drawn, with their titles."""


def sweep_chart(result: SweepResult, amount: str | None = None) -> Figure | None:
    """Lines over the number that varies most, one for each combination of the others; None if there is nothing."""
    amount = amount or ("seconds" if any(row.seconds is not None for row in result.rows) else "macs")
    rows = [row for row in result.rows if getattr(row, amount) is not None]
    axis = _axis(rows)
    if not rows or axis is None:
        return None
    graph = graph_objects()
    lines = _lines(rows, axis)
    traces = [
        graph.Scatter(
            name=escape(name), x=[getattr(row, axis) for row in points], y=[_place(row, amount) for row in points],
            mode="lines+markers", marker={"color": colour, "size": 5}, line={"color": colour},
            hovertext=[f"{escape(name)}: {_text(row, amount)}" for row in points], hoverinfo="x+text",
        )
        for (name, points), colour in zip(lines.items(), colours_of(list(lines)).values(), strict=True)
    ]  # fmt: skip
    return make_chart(
        traces, HEIGHT, showlegend=True, xaxis={"title": {"text": _axis_title(rows, axis)}}, yaxis=_amounts(amount)
    )


def _axis_title(rows: Sequence[Row], axis: str) -> str:
    if axis in ("height", "width") and all(row.height == row.width for row in rows):
        return "side of the image in pixels"
    return f"{NUMBERS[axis]} in pixels" if axis in ("height", "width") else NUMBERS[axis]


def _place(row: Row, amount: str) -> float:
    """The value of a point on the vertical axis; memory is in the unit of the table."""
    value: float = getattr(row, amount)
    return value / GIB if amount == "allocated_bytes" else value


def _amounts(amount: str) -> dict[str, Any]:
    title = AMOUNTS[amount]
    if amount == "allocated_bytes":
        return {"title": {"text": title}, "rangemode": "tozero", "ticksuffix": " GiB"}
    return amount_axis(title, "s" if amount == "seconds" else "")


def _axis(rows: Sequence[Row]) -> str | None:
    """The number with the most values; None if nothing varies."""
    varied = {name: len({getattr(row, name) for row in rows}) for name in NUMBERS}
    name = max(varied, key=lambda each: varied[each])
    return name if varied[name] > 1 else None


def _lines(rows: Sequence[Row], axis: str) -> dict[str, list[Row]]:
    """The points of each line, by its name, which consists of what differs between lines."""
    others = [name for name in ("model", *NUMBERS, "dtype", "gpu") if name != axis]
    if all(row.height == row.width for row in rows):
        others = [name for name in others if name not in ("height", "width")]
    differing = [name for name in others if name == "model" or not _follows_model(rows, name)]
    differing = [name for name in differing if len({getattr(row, name) for row in rows}) > 1]
    lines: dict[str, list[Row]] = {}
    for row in rows:
        name = ", ".join(_label(name, getattr(row, name)) for name in differing) or row.model
        lines.setdefault(name, []).append(row)
    kept = dict(list(lines.items())[:MAX_LINES])
    return {name: sorted(points, key=lambda row: getattr(row, axis) or 0) for name, points in kept.items()}


def _follows_model(rows: Sequence[Row], name: str) -> bool:
    """Whether each model has a single value of the column, so that the model's name is enough."""
    return len({(row.model, getattr(row, name)) for row in rows}) == len({row.model for row in rows})


def _label(name: str, value: Any) -> str:
    return str(value) if name in ("model", "gpu", "dtype") else f"{NUMBERS[name]} {value}"


def _text(row: Row, amount: str) -> str:
    if amount == "seconds":
        return numbers.estimate(row.seconds or 0.0)
    return numbers.macs(row.macs) if amount == "macs" else numbers.gibibytes(row.allocated_bytes or 0)
