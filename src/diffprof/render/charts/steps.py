"""Charts of the denoising steps: the MACs and the time of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diffprof.breakdown.steps import StepRow, StepSample, step_samples, step_table
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
    steps_axis,
    time_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def step_macs_chart(profile: Profile) -> Figure | None:
    """The MACs of each denoising step, with one colour for each loop of a cascade.

    None if all steps cost the same.
    """
    if len({macs for stage in profile.steps.stages for macs in stage.step_macs}) < 2:
        return None
    colours, bars, first = component_colours(profile), [], 0
    for stage in profile.steps.stages:
        steps = list(range(first, first + stage.count))
        what = ", ".join(stage.denoisers) or stage.scheduler
        bars.append(
            graph_objects().Bar(
                name=escape(what),
                x=steps,
                y=list(stage.step_macs),
                hovertext=[
                    join_lines(
                        f"<b>step {number}</b> of {escape(what)}",
                        numbers.macs(macs),
                        f"with {escape(stage.scheduler)}",
                    )
                    for number, macs in enumerate(stage.step_macs)
                ],
                hoverinfo="text",
                marker={"color": colours.get(stage.denoisers[0] if stage.denoisers else "", COLOURS[0])},
            )
        )
        first += stage.count
    if not first:
        return None
    return make_chart(
        bars, 260, showlegend=len(bars) > 1, bargap=0.15,
        xaxis=steps_axis(first), yaxis=amount_axis("MACs"),
    )  # fmt: skip


def step_times_chart(profile: Profile) -> Figure | None:
    """The time of each denoising step: every iteration as a thin line, their median as a thick one."""
    rows, samples = step_table(profile), step_samples(profile)
    if not rows:
        return None
    schedulers = list(dict.fromkeys(row.scheduler for row in rows))
    place = {(row.scheduler, row.number): number for number, row in enumerate(rows)}
    several = len(schedulers) > 1
    traces, named = [], set()
    iterations = list(dict.fromkeys(sample.iteration for sample in samples))
    # The median of a single iteration would be the same line.
    middle = "median" if len(iterations) > 1 else "time of the step"
    for iteration in iterations if len(iterations) > 1 else ():
        steps = [one for one in samples if one.iteration == iteration and (one.scheduler, one.number) in place]
        kind = "warm-up" if steps and steps[0].warmup else "iteration"
        line = _iteration_line(steps, [place[one.scheduler, one.number] for one in steps], kind)
        traces.append(line.update(showlegend=kind not in named))
        named.add(kind)
    for number, scheduler in enumerate(schedulers):
        own = [row for row in rows if row.scheduler == scheduler]
        name = f"{middle}, {escape(scheduler)}" if several else middle
        traces.append(_median_line(own, [place[scheduler, row.number] for row in own], name, COLOURS[number]))
    return make_chart(
        traces, 320,
        xaxis=steps_axis(len(rows)),
        yaxis=time_axis(f"{rows[0].clock} time", max(row.max_ns for row in rows)),
    )  # fmt: skip


def _iteration_line(steps: Sequence[StepSample], places: Sequence[int], kind: str) -> Any:
    return graph_objects().Scatter(
        name=f"{kind}s",
        legendgroup=kind,
        x=list(places),
        y=[seconds(one.length_ns) for one in steps],
        mode="lines",
        line={"color": GREY, "width": 1, "dash": "dot" if kind == "warm-up" else "solid"},
        opacity=0.7,
        # A template instead of a text for each point: there are many of them.
        hovertemplate=f"{kind} {steps[0].iteration + 1}, step %{{x}}: %{{y:.4~s}}s<extra></extra>" if steps else None,
    )


def _median_line(rows: Sequence[StepRow], places: Sequence[int], name: str, colour: str) -> Any:
    return graph_objects().Scatter(
        name=name,
        x=list(places),
        y=[seconds(row.median_ns) for row in rows],
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={"size": 6},
        hovertext=[_step_tooltip(row) for row in rows],
        hoverinfo="text",
    )


def _step_tooltip(row: StepRow) -> str:
    return join_lines(
        f"<b>step {row.number}</b>",
        numbers.nanoseconds(row.median_ns),
        f"from {numbers.nanoseconds(row.min_ns)} to {numbers.nanoseconds(row.max_ns)}",
        "" if row.macs is None else numbers.macs(row.macs),
        "" if row.flops_per_second is None else numbers.flops_per_second(row.flops_per_second),
    )
