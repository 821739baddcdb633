"""A chart of the cost over the size of the image or the denoising steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof.comparison.curves import Curve
from diffprof.render import numbers
from diffprof.render.charts.style import RUN_COLOURS, amount_axis, escape, graph_objects, join_lines, make_chart

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LONGEST = 26


def curves_chart(curves: Sequence[Curve], what: str, unit: str = "") -> Figure | None:
    """MACs over `what`, such as ``denoising steps``; points are counted, lines only connect them."""
    not_empty = [curve for curve in curves if curve.places]
    # A single point shows no growth.
    if not any(len(curve.places) > 1 for curve in not_empty):
        return None
    colours = [RUN_COLOURS[number % len(RUN_COLOURS)] for number in range(len(not_empty))]
    traces = [
        graph_objects().Scatter(
            name=escape(curve.name, LONGEST),
            x=list(curve.places),
            y=list(curve.macs),
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 8},
            hovertext=[
                join_lines(f"<b>{escape(curve.name)}</b>", f"{what} {numbers.exact(place)}{unit}", numbers.macs(macs))
                for place, macs in zip(curve.places, curve.macs, strict=True)
            ],
            hoverinfo="text",
        )
        for curve, colour in zip(not_empty, colours, strict=True)
    ]
    return make_chart(traces, 360, showlegend=True, xaxis={"title": {"text": what}}, yaxis=amount_axis("MACs"))
