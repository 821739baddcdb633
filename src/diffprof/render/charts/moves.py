"""The weights that offloading moved in each denoising step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.breakdown.moves import step_move_table
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    amount_axis,
    component_colours,
    escape,
    graph_objects,
    join_lines,
    make_chart,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def moves_chart(profile: Profile) -> Figure | None:
    """The weights moved in each denoising step of the last iteration, by component."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    rows = step_move_table(timed[-1]) if timed else []
    if not rows:
        return None
    steps = sorted({row.step for row in rows}, key=lambda step: -1 if step is None else step)
    colours = component_colours(profile)
    bars = []
    for component in dict.fromkeys(row.component for row in rows):
        by_step = {row.step: row.moved for row in rows if row.component == component}
        bars.append(
            graph_objects().Bar(
                name=escape(component),
                x=[_step(step) for step in by_step],
                y=[moved.all_bytes for moved in by_step.values()],
                marker={"color": colours.get(component, GREY)},
                hovertext=[
                    join_lines(
                        f"<b>{escape(component)}</b>, {_step(step)}",
                        f"{numbers.gigabytes(moved.all_bytes)}, {numbers.exact(moved.times_in)} in, "
                        f"{numbers.exact(moved.times_out)} out",
                        f"host busy for {numbers.nanoseconds(moved.host_ns)}",
                    )
                    for step, moved in by_step.items()
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
