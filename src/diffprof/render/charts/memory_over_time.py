"""The memory of a measured run over time, and the weights that offloading moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from diffprof.breakdown.moves import step_move_table
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    COLOURS,
    GREY,
    amount_axis,
    component_colours,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    seconds,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_POINTS = 500
PEAK = "its peak between two moments"


class _Point(NamedTuple):
    at_ns: int
    size: int
    label: str


def memory_chart(profile: Profile) -> Figure | None:
    """All iterations one after the other: memory of the process and of the device, as far as they tell."""
    measured = profile.measured
    if measured is None:
        return None
    lines_of = {
        "allocated on the device": (_moments(measured, "allocated_bytes"), COLOURS[0], "solid"),
        PEAK: (_moments(measured, "peak_allocated_bytes"), COLOURS[3], "dot"),
        "reserved on the device": (_moments(measured, "reserved_bytes"), COLOURS[7], "dash"),
        "in use on the GPU, by all": (_seen(measured, "gpu_memory_bytes"), COLOURS[1], "dot"),
        "resident memory of the process": (_process(measured), COLOURS[2], "solid"),
    }
    traces = [_line(name, points, colour, dash) for name, (points, colour, dash) in lines_of.items() if points]
    if not traces:
        return None
    return make_chart(
        traces, 340, xaxis=amount_axis("time since the measurement began", "s"), yaxis=amount_axis("memory", "B"),
        shapes=_bands(measured),
    )  # fmt: skip


def _moments(measured: Measured, name: str) -> list[_Point]:
    """What was noted where a component's call began or ended."""
    return [
        _Point(iteration.began_ns + point.at_ns, getattr(point, name), point.label)
        for iteration in measured.iterations
        for point in iteration.memory
        if getattr(point, name) is not None
    ]


def _seen(measured: Measured, name: str) -> list[_Point]:
    """What the background sampler saw."""
    return [
        _Point(point.at_ns, getattr(point, name), "seen in the background")
        for point in measured.system
        if getattr(point, name) is not None
    ]


def _process(measured: Measured) -> list[_Point]:
    return sorted([*_moments(measured, "rss_bytes"), *_seen(measured, "rss_bytes")])


def _line(name: str, points: Sequence[_Point], colour: str, dash: str) -> Any:
    kept = _highest(points)
    return graph_objects().Scatter(
        name=name,
        x=[seconds(point.at_ns) for point in kept],
        y=[point.size for point in kept],
        mode="lines",
        # A peak is that of the time before its moment.
        line={"color": colour, "width": 2, "dash": dash, "shape": "vh" if name == PEAK else "linear"},
        hovertext=[
            join_lines(f"<b>{numbers.both_bytes(point.size)}</b> {name}", escape(point.label)) for point in kept
        ],
        hoverinfo="text",
    )


def _highest(points: Sequence[_Point]) -> list[_Point]:
    """Of neighbours that share one place the highest: no peak gets lost."""
    size = -(-len(points) // MOST_POINTS)
    return [
        max(points[place : place + size], key=lambda point: point.size) for place in range(0, len(points), size or 1)
    ]


def _bands(measured: Measured) -> list[dict[str, Any]]:
    """The stretches of the iterations, warm-ups and traced ones paler; a single one needs no telling apart."""
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


def moves_chart(profile: Profile) -> Figure | None:
    """The weights that were moved in each denoising step of the last iteration, by component."""
    timed = profile.measured.timed if profile.measured else ()
    rows = step_move_table(timed[-1]) if timed else []
    if not rows:
        return None
    steps = sorted({row.step for row in rows}, key=lambda step: -1 if step is None else step)
    colours = component_colours(profile)
    bars = []
    for component in dict.fromkeys(row.component for row in rows):
        own = {row.step: row.moved for row in rows if row.component == component}
        bars.append(
            graph_objects().Bar(
                name=escape(component),
                x=[_step(step) for step in own],
                y=[moved.all_bytes for moved in own.values()],
                marker={"color": colours.get(component, GREY)},
                hovertext=[
                    join_lines(
                        f"<b>{escape(component)}</b>, {_step(step)}",
                        f"{numbers.gigabytes(moved.all_bytes)}, {numbers.exact(moved.times_in)} in, "
                        f"{numbers.exact(moved.times_out)} out",
                        f"the host was busy with it for {numbers.nanoseconds(moved.host_ns)}",
                    )
                    for step, moved in own.items()
                ],
                hoverinfo="text",
            )
        )
    axis = {"type": "category", "categoryorder": "array", "categoryarray": [_step(step) for step in steps]}
    return make_chart(
        bars, 300, barmode="stack", showlegend=True,
        xaxis={**axis, "showgrid": False, "title": {"text": "denoising step"}}, yaxis=amount_axis("bytes moved", "B"),
    )  # fmt: skip


def _step(step: int | None) -> str:
    return "outside" if step is None else str(step)
