"""Charts that compare several profiles."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.throughput import throughput_table
from diffprof.record.profile import Component, Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    NEUTRAL,
    ROW,
    RUN_COLOURS,
    amount_axis,
    colours_of_components,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    numbered_axis,
    parameters_axis,
    seconds,
    share_axis,
    short_count,
    time_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FEWEST_POINTS = 3
LONGEST = 26
PARAMETERS = "parameters"


def components_chart(profiles: Sequence[Profile], names: Sequence[str], shares_of_each: bool = False) -> Figure | None:
    """The MACs of each profile as one bar of its components; or as shares, with bars of equal length."""
    chart = _stacked_bars(profiles, names, "MACs", lambda part: part.macs, numbers.macs)
    if chart is not None and shares_of_each:
        chart.update_layout(barnorm="fraction", xaxis=share_axis("share of the MACs", ticksuffix=""))
    return chart


def parameters_chart(profiles: Sequence[Profile], names: Sequence[str]) -> Figure | None:
    """The parameters of each profile as one bar of its components."""
    return _stacked_bars(profiles, names, PARAMETERS, lambda part: part.parameters, numbers.parameters)


def _stacked_bars(
    profiles: Sequence[Profile],
    names: Sequence[str],
    what: str,
    amount: Callable[[Component], int],
    format_amount: Callable[[int], str],
) -> Figure | None:
    slots = _slots(profiles, amount)
    if not slots:
        return None
    bars = []
    colours = colours_in_comparison(profiles)
    for slot in slots:
        colour = colours[slot]
        amounts = {
            place: amount(profile.components[slot])
            for place, profile in enumerate(profiles)
            if slot in profile.components
        }
        bars.append(_bar(slot, colour, amounts, names, format_amount))
    totals = [sum(map(amount, profile.components.values())) for profile in profiles]
    axis = parameters_axis(max(totals)) if what == PARAMETERS else amount_axis(what)
    return make_chart(
        bars, ROW * len(profiles) + 120, barmode="stack", showlegend=True, xaxis=axis, yaxis=_names(names)
    )


def colours_in_comparison(profiles: Sequence[Profile]) -> Mapping[str, str]:
    """The colour of each component in every chart of the comparison."""
    most: dict[str, int] = {}
    for profile in profiles:
        for slot, part in profile.components.items():
            most[slot] = max(most.get(slot, 0), part.macs)
    return colours_of_components(sorted(most, key=lambda slot: -most[slot]))


def _slots(profiles: Sequence[Profile], amount: Callable[[Component], int]) -> list[str]:
    """The components with something to show, the largest first."""
    most: dict[str, int] = {}
    for profile in profiles:
        for slot, part in profile.components.items():
            most[slot] = max(most.get(slot, 0), amount(part))
    return sorted((slot for slot in most if most[slot]), key=lambda slot: -most[slot])


def _bar(
    slot: str, colour: str, amounts: Mapping[int, float], names: Sequence[str], format_amount: Callable[..., str]
) -> Any:
    return graph_objects().Bar(
        name=escape(slot, LONGEST),
        orientation="h",
        y=list(amounts),
        x=list(amounts.values()),
        marker={"color": colour},
        hovertext=[
            join_lines(f"<b>{escape(names[place])}</b>", escape(slot), format_amount(amount))
            for place, amount in amounts.items()
        ],
        hoverinfo="text",
    )


def cost_chart(profiles: Sequence[Profile], names: Sequence[str]) -> Figure | None:
    """The MACs of each profile over its parameters, on logarithmic axes; None for fewer than three profiles."""
    found = [(one, name) for one, name in zip(profiles, names, strict=True) if one.total.macs and one.total.parameters]
    if len({one.total.parameters for one, _ in found}) < FEWEST_POINTS:
        return None
    order = sorted(range(len(found)), key=lambda place: found[place][0].total.parameters)
    trace = graph_objects().Scatter(
        x=[one.total.parameters for one, _ in found],
        y=[one.total.macs for one, _ in found],
        mode="markers+text",
        text=[escape(name, LONGEST) for _, name in found],
        # Alternately above and below, so that the names of neighbours do not overlap.
        textposition=["bottom center" if order.index(place) % 2 else "top center" for place in range(len(found))],
        cliponaxis=False,
        marker={"size": 14, "color": [RUN_COLOURS[number % len(RUN_COLOURS)] for number in range(len(found))]},
        hovertext=[
            join_lines(
                f"<b>{escape(name)}</b>",
                numbers.macs(one.total.macs),
                f"{numbers.parameters(one.total.parameters)} parameters",
            )
            for one, name in found
        ],
        hoverinfo="text",
    )
    return make_chart(
        [trace], 400,
        xaxis=_log_axis(PARAMETERS, [one.total.parameters for one, _ in found]),
        yaxis=_log_axis("MACs", [one.total.macs for one, _ in found]),
    )  # fmt: skip


def _log_axis(title: str, values: Sequence[int]) -> dict[str, Any]:
    """A logarithmic axis with space for names around the points."""
    low, high = math.log10(min(values)), math.log10(max(values))
    margin = 0.2 * (high - low) + 0.1
    axis = {"type": "log", "tickformat": "~s", "title": {"text": title}, "range": [low - margin, high + margin]}
    if title == PARAMETERS:
        powers = range(math.floor(low - margin), math.ceil(high + margin) + 1)
        ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        return {**axis, "tickmode": "array", "tickvals": ticks, "ticktext": list(map(short_count, ticks))}
    # A range of less than a power of ten needs ticks in between: at 2 and 5, or as many as fit.
    if high - low > 0.4:
        return {**axis, "dtick": 1 if high - low > 1 else "D2"}
    return {**axis, "nticks": 5}


def times_chart(profiles: Sequence[Profile], names: Sequence[str]) -> Figure | None:
    """Every timed iteration of each measured profile as a point, and their medians."""
    walls = [(name, _walls(profile)) for profile, name in zip(profiles, names, strict=True)]
    measured = [(name, times) for name, times in walls if times]
    if not measured:
        return None
    points = graph_objects().Scatter(
        name="iterations",
        y=[place for place, (_, times) in enumerate(measured) for _ in times],
        x=[seconds(time) for _, times in measured for time in times],
        mode="markers",
        marker={"size": 9, "opacity": 0.6, "color": NEUTRAL[0]},
        hovertext=[
            f"{escape(name)}, iteration {number}: {numbers.nanoseconds(time)}"
            for name, times in measured
            for number, time in enumerate(times, 1)
        ],
        hoverinfo="text",
    )
    medians = [(name, statistics.median(times)) for name, times in measured]
    middle = graph_objects().Scatter(
        name="median",
        y=list(range(len(medians))),
        x=[seconds(time) for _, time in medians],
        mode="markers",
        marker={"size": 22, "symbol": "line-ns", "line": {"width": 3, "color": RUN_COLOURS[1]}},
        hovertext=[f"{escape(name)}, median: {numbers.nanoseconds(time)}" for name, time in medians],
        hoverinfo="text",
    )
    longest = max(time for _, times in measured for time in times)
    return make_chart(
        [points, middle], ROW * len(measured) + 120, xaxis=time_axis("time of one generation", longest),
        yaxis=_names([name for name, _ in measured]),
    )  # fmt: skip


def component_times_chart(profiles: Sequence[Profile], names: Sequence[str]) -> Figure | None:
    """The time of each measured profile as one bar of its components."""
    tables = [
        (name, {row.component: row.median_ns for row in throughput_table(profile)})
        for profile, name in zip(profiles, names, strict=True)
    ]
    measured = [(name, table) for name, table in tables if table]
    if not measured:
        return None
    slots = dict.fromkeys(slot for _, table in measured for slot in table)
    bars = []
    colours = colours_in_comparison(profiles)
    for slot in slots:
        colour = colours.get(slot, GREY)
        times = {place: seconds(table[slot]) for place, (_, table) in enumerate(measured) if slot in table}
        known = [name for name, _ in measured]
        bars.append(_bar(slot, colour, times, known, lambda time: numbers.nanoseconds(time * 1e9)))
    longest = max(sum(table.values()) for _, table in measured)
    return make_chart(
        bars, ROW * len(measured) + 120, barmode="stack", showlegend=True,
        xaxis=time_axis("time of one generation, medians", longest), yaxis=_names([name for name, _ in measured]),
    )  # fmt: skip


def _walls(profile: Profile) -> list[int]:
    timed = profile.measured.timed_iterations if profile.measured else ()
    clock = clock_of(timed)
    return [clock.length_ns(one.wall) for one in timed]


def _names(names: Sequence[str]) -> dict[str, Any]:
    """An axis with numbered rows, because two names can become the same when they are shortened."""
    return numbered_axis([escape(name, LONGEST) for name in names])
