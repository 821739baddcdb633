"""Charts of traces: devices over time, gaps, kinds of work, steps, memory, ranks and changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.render import numbers
from diffprof.render.charts.style import (
    COLOURS,
    GREY,
    ROW,
    amount_axis,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    names_axis,
    numbered_axis,
    seconds,
    share_axis,
    time_text,
)
from diffprof.render.numbers import milliseconds
from diffprof.traces import facts
from diffprof.traces.analysis.comparison import TraceChange
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import DeviceActivity, Gap, TraceExplanation
from diffprof.traces.views.names import CAUSES, short, short_path

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_GAPS = 1_000
MAX_STEPS = 500
LONGEST_NAME = 80

# One colour for each part of a timeline, in all charts.
PARTS = {
    "computation": COLOURS[0],
    "communication, exposed": COLOURS[1],
    "copies, exposed": COLOURS[2],
    "idle": "#c9cdd4",
}
CAUSE_COLOURS = dict(zip(CAUSES, (*(COLOURS[number] for number in (3, 4, 1, 5, 7, 8)), GREY), strict=True))


def activity_chart(activity: DeviceActivity) -> Figure | None:
    """What one device did over time: the share of each part of the timeline, idle on top."""
    if not activity.parts:
        return None
    start = [seconds(part[0] + part[1] / 2) for part in activity.parts]
    length = [part[1] for part in activity.parts]
    columns = {name: [part[2 + number] for part in activity.parts] for number, name in enumerate(list(PARTS)[:3])}
    columns["idle"] = [part[1] - sum(part[2:]) for part in activity.parts]
    bars = [
        graph_objects().Bar(
            name=name,
            x=start,
            y=[round(time / whole, 5) for time, whole in zip(times, length, strict=True)],
            width=[seconds(whole) for whole in length],
            marker={"color": PARTS[name], "line": {"width": 0}},
            hovertext=[
                f"{name}: {numbers.percent(time / whole)} of {numbers.nanoseconds(whole)} starting at "
                f"{milliseconds(part[0])}"
                for time, whole, part in zip(times, length, activity.parts, strict=True)
            ],
            hoverinfo="text",
        )
        for name, times in columns.items()
        if any(times)
    ]
    return make_chart(
        bars, 300, barmode="stack", bargap=0, showlegend=True,
        xaxis=amount_axis("time since the start of the trace", "s", rangemode="normal"),
        yaxis=share_axis("share of the time", range=[0, 1]),
    )  # fmt: skip


def gaps_chart(explanation: TraceExplanation) -> Figure | None:
    """The longest gaps: when, how long and why; lengths on a logarithmic scale."""
    longest = sorted((gap for gap in explanation.gaps if gap.length_ns), key=lambda gap: -gap.length_ns)[:MAX_GAPS]
    if not longest:
        return None
    points = []
    for cause in dict.fromkeys(gap.cause for gap in longest):
        gaps = [gap for gap in longest if gap.cause == cause]
        points.append(
            graph_objects().Scatter(
                name=CAUSES[cause],
                x=[seconds(gap.start_ns) for gap in gaps],
                y=[seconds(gap.length_ns) for gap in gaps],
                mode="markers",
                marker={"color": CAUSE_COLOURS[cause], "size": 8, "opacity": 0.7},
                hovertext=[_hover_text(gap) for gap in gaps],
                hoverinfo="text",
            )
        )
    return make_chart(
        points, 300, showlegend=True,
        xaxis=amount_axis("time since the start of the trace", "s", rangemode="normal"),
        yaxis=_logarithmic_axis([gap.length_ns for gap in longest], "idle for"),
    )  # fmt: skip


def _logarithmic_axis(times: Sequence[int], title: str) -> dict[str, Any]:
    """A logarithmic axis of times with a tick at each power of ten."""
    low, high = (math.log10(time / 1e9) for time in (min(times), max(times)))
    powers = range(math.floor(low), math.floor(high) + 2)
    return {
        "type": "log", "title": {"text": title}, "range": [low - 0.2, high + 0.2], "tickmode": "array",
        "tickvals": [10.0**power for power in powers], "ticktext": [time_text(10.0**power) for power in powers],
    }  # fmt: skip


def _hover_text(gap: Gap) -> str:
    return join_lines(
        f"<b>{milliseconds(gap.length_ns)}</b> at {milliseconds(gap.start_ns)}: {CAUSES[gap.cause]}",
        escape(short(gap.what), LONGEST_NAME),
        f"in {escape(short_path(gap.where), LONGEST_NAME)}" if gap.where else "",
        f"before {escape(short(gap.after), LONGEST_NAME)}" if gap.after else "",
    )


def kinds_chart(explanation: TraceExplanation) -> Figure | None:
    """The GPU time of each kind of work."""
    rows = [row for row in explanation.kinds if row.gpu_ns]
    if not rows:
        return None
    colours = dict(zip(facts.KINDS, (*COLOURS[:8], GREY), strict=True))
    bar = graph_objects().Bar(
        orientation="h",
        y=[row.kind for row in rows],
        x=[seconds(row.gpu_ns) for row in rows],
        marker={"color": [colours.get(row.kind, GREY) for row in rows]},
        text=[numbers.percent(row.gpu_ns / explanation.gpu_ns) for row in rows],
        textposition="outside",
        cliponaxis=False,
        hovertext=[f"{row.kind}: {milliseconds(row.gpu_ns)}, {numbers.times(row.count, 'kernel')}" for row in rows],
        hoverinfo="text",
    )
    longest = max(row.gpu_ns for row in rows)
    # Space for the percentage after the longest bar.
    axis = amount_axis("GPU time", "s", range=[0, seconds(longest * 1.25)])
    return make_chart([bar], ROW * len(rows) + 70, showlegend=False, xaxis=axis, yaxis=names_axis())


def steps_chart(explanation: TraceExplanation) -> Figure | None:
    """Host time and GPU time of each step."""
    steps = explanation.steps
    if steps is None or not 1 < len(steps.kernels) <= MAX_STEPS:
        return None
    names = [str(number) for number in range(1, len(steps.kernels) + 1)]
    bars_of = [("host", steps.host_ns, GREY)]
    if explanation.timelines:
        bars_of.append(("GPU busy", steps.gpu_busy_ns, COLOURS[0]))
    bars = [
        graph_objects().Bar(
            name=name,
            x=names,
            y=[seconds(time) for time in times],
            marker={"color": colour},
            hovertext=[
                f"step {number}: {milliseconds(time)} {name}, {numbers.times(kernels, 'kernel')}"
                for number, time, kernels in zip(names, times, steps.kernels, strict=True)
            ],
            hoverinfo="text",
        )
        for name, times, colour in bars_of
    ]
    axis = {"type": "category", "showgrid": False, "title": {"text": "step"}, "nticks": 25}
    return make_chart(bars, 280, barmode="group", showlegend=True, xaxis=axis, yaxis=amount_axis("time", "s"))


def memory_chart(explanation: TraceExplanation) -> Figure | None:
    """Allocated and reserved memory of each device."""
    uses = [use for use in explanation.memory if use.samples]
    if not uses:
        return None
    curves = []
    for number, use in enumerate(uses):
        colour = COLOURS[number % len(COLOURS)]
        for name, column, dash in (("allocated", 1, "solid"), ("reserved", 2, "dot")):
            if not any(sample[column] for sample in use.samples):
                continue
            curves.append(
                graph_objects().Scatter(
                    name=f"{name} on {escape(use.device)}",
                    x=[seconds(sample[0]) for sample in use.samples],
                    y=[sample[column] for sample in use.samples],
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": dash, "shape": "hv"},
                    hovertext=[
                        f"{numbers.both_bytes(sample[column])} {name} at {milliseconds(sample[0])}"
                        for sample in use.samples
                    ],
                    hoverinfo="text",
                )
            )
    axis = amount_axis("time since the start of the trace", "s", rangemode="normal")
    return make_chart(curves, 300, showlegend=True, xaxis=axis, yaxis=amount_axis("memory", "B"))


def ranks_chart(ranks: RankComparison) -> Figure | None:
    """The timeline of each rank as one bar."""
    rows = ranks.rows
    names = [f"rank {row.rank}" for row in rows]
    computation, communication, copies, idle = PARTS
    parts: Mapping[str, list[int]] = {
        computation: [row.computation_ns for row in rows],
        communication: [row.exposed_communication_ns for row in rows],
        copies: [row.exposed_copy_ns for row in rows],
        idle: [row.idle_ns for row in rows],
    }
    return _timeline_bars(parts, names)


def changes_chart(rows: Sequence[TraceChange]) -> Figure | None:
    """The timelines of two traces as one bar each, from the `timeline` of their comparison."""
    by_name = {row.name: row for row in rows}
    parts = {
        "computation": by_name["computation"],
        "communication, exposed": by_name["exposed communication"],
        "copies, exposed": by_name["exposed copies"],
        "idle": by_name["idle"],
    }
    return _timeline_bars({part: [row.before_ns, row.after_ns] for part, row in parts.items()}, ["before", "after"])


def _timeline_bars(parts: Mapping[str, Sequence[int]], names: Sequence[str]) -> Figure | None:
    """A bar of its parts for each name; None if all of them are empty."""
    bars = [_parts_bar(part, times, names) for part, times in parts.items() if any(times)]
    if not bars:
        return None
    return make_chart(
        bars, ROW * len(names) + 120, barmode="stack", showlegend=True, xaxis=amount_axis("time", "s"),
        yaxis=numbered_axis(names),
    )  # fmt: skip


def _parts_bar(part: str, times: Sequence[int], names: Sequence[str]) -> Any:
    return graph_objects().Bar(
        name=part,
        orientation="h",
        y=list(range(len(names))),
        x=[seconds(time) for time in times],
        marker={"color": PARTS[part]},
        hovertext=[f"{name}, {part}: {milliseconds(time)}" for name, time in zip(names, times, strict=True)],
        hoverinfo="text",
    )
