"""Cache hits over the denoising steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.breakdown.caches import CacheStep, cache_timeline
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GOOD,
    GREY,
    LONGEST_LABEL,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    numbered_axis,
    steps_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def cache_chart(profile: Profile) -> Figure | None:
    """A row for each cache and a cell for each step: the share of lookups that hit."""
    found = [one for one in cache_timeline(profile) if one.step is not None]
    if not found:
        return None
    caches = list(dict.fromkeys((one.cache, one.component) for one in found))
    steps = sorted({one.step for one in found if one.step is not None})
    at = {((one.cache, one.component), one.step): one for one in found}
    cells = [[at.get((cache, step)) for step in steps] for cache in caches]
    trace = graph_objects().Heatmap(
        x=steps,
        y=list(range(len(caches))),
        z=[[None if one is None else _rate(one) for one in row] for row in cells],
        hovertext=[["" if one is None else _hover_text(one) for one in row] for row in cells],
        hoverinfo="text",
        hoverongaps=False,
        zmin=0,
        zmax=1,
        xgap=2,
        ygap=2,
        colorscale=[[0, GREY], [1, GOOD]],
        colorbar={"tickformat": ".0%", "thickness": 10, "tickvals": [0, 1]},
    )
    names = [
        join_lines(escape(cache, LONGEST_LABEL), escape(component or "", LONGEST_LABEL)) for cache, component in caches
    ]
    return make_chart(
        [trace], 48 * len(caches) + 100,
        xaxis=steps_axis(len(steps)), yaxis=numbered_axis(names),
    )  # fmt: skip


def _rate(one: CacheStep) -> float:
    return one.hits / (one.hits + one.misses)


def _hover_text(one: CacheStep) -> str:
    return join_lines(
        f"<b>{escape(one.cache)}</b>, step {one.step}",
        f"{numbers.times(one.hits, 'hit')}, {numbers.exact(one.misses)} computed",
        numbers.percent(_rate(one)),
    )
