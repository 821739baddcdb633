"""A chart of the memory of a measured run over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    NEUTRAL,
    amount_axis,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    seconds,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_POINTS = 500
PEAK = "peak allocated between two moments"


class _Point(NamedTuple):
    at_ns: int
    size: int
    label: str


def memory_chart(profile: Profile) -> Figure | None:
    """The known memory of the process and of the device over all iterations."""
    measured = profile.measured
    if measured is None:
        return None
    lines_of = {
        "allocated on the device": (_points_at_calls(measured, "allocated_bytes"), NEUTRAL[0], "solid"),
        PEAK: (_points_at_calls(measured, "peak_allocated_bytes"), NEUTRAL[0], "dot"),
        "reserved on the device": (_points_at_calls(measured, "reserved_bytes"), NEUTRAL[1], "dash"),
        "in use on the GPU by all processes": (_sampled_points(measured, "gpu_memory_bytes"), NEUTRAL[1], "dot"),
        "resident memory of the process": (_process(measured), GREY, "solid"),
    }
    traces = [_line(name, points, colour, dash) for name, (points, colour, dash) in lines_of.items() if points]
    if not traces:
        return None
    return make_chart(
        traces, 340, showlegend=True, xaxis=amount_axis("time since the measurement started", "s"),
        yaxis=amount_axis("memory", "B"), shapes=_bands(measured),
    )  # fmt: skip


def _points_at_calls(measured: Measured, name: str) -> list[_Point]:
    """The memory at the start and end of each component's call."""
    return [
        _Point(iteration.began_ns + point.at_ns, getattr(point, name), point.label)
        for iteration in measured.iterations
        for point in iteration.memory
        if getattr(point, name) is not None
    ]


def _sampled_points(measured: Measured, name: str) -> list[_Point]:
    """The memory that the background sampler recorded."""
    return [
        _Point(point.at_ns, getattr(point, name), "background sample")
        for point in measured.system
        if getattr(point, name) is not None
    ]


def _process(measured: Measured) -> list[_Point]:
    return sorted([*_points_at_calls(measured, "rss_bytes"), *_sampled_points(measured, "rss_bytes")])


def _line(name: str, points: Sequence[_Point], colour: str, dash: str) -> Any:
    highest = _highest(points)
    return graph_objects().Scatter(
        name=name,
        x=[seconds(point.at_ns) for point in highest],
        y=[point.size for point in highest],
        mode="lines",
        # A peak covers the time before its moment.
        line={"color": colour, "width": 2, "dash": dash, "shape": "vh" if name == PEAK else "linear"},
        hovertext=[
            join_lines(f"<b>{numbers.both_bytes(point.size)}</b> {name}", escape(point.label)) for point in highest
        ],
        hoverinfo="text",
    )


def _highest(points: Sequence[_Point]) -> list[_Point]:
    """Reduce the number of points to the highest of each group of neighbours, which keeps the peaks."""
    size = -(-len(points) // MAX_POINTS)
    return [
        max(points[place : place + size], key=lambda point: point.size) for place in range(0, len(points), size or 1)
    ]


def _bands(measured: Measured) -> list[dict[str, Any]]:
    """A band for each iteration, paler for warm-ups and traced ones; none for a single iteration."""
    if len(measured.iterations) == 1:
        return []
    return [
        {
            "type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0}, "layer": "below",
            "x0": seconds(one.began_ns), "x1": seconds(one.began_ns + one.wall.end_ns),
            "fillcolor": GREY, "opacity": 0.06 if one.warmup or one.traced else 0.14,
        }
        for one in measured.iterations
    ]  # fmt: skip
