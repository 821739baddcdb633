"""A timeline of one iteration of a measured run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diffprof.breakdown.clocks import Clock, clock_of
from diffprof.record.measured import Iteration, Sample
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    COLOURS,
    GREY,
    component_colours,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    numbered_axis,
    seconds,
    time_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_BARS = 2_000
LANE = 44
MOVE_COLOUR = COLOURS[8]
STEPS, MOVES = -1, 1_000
"""The lanes of steps and moves; sections have the lanes from 0 on, by nesting depth."""


@dataclass(frozen=True)
class _Bar:
    lane: int
    name: str
    colour: str
    start_ns: int
    length_ns: int
    label: str
    """The text in the bar, if it fits."""
    about: str = ""


def timeline_chart(profile: Profile) -> Figure | None:
    """The iteration of median length: steps on top, then sections, nested ones below."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    if not timed:
        return None
    clock = clock_of(timed)
    iteration = sorted(timed, key=lambda one: clock.length_ns(one.wall))[(len(timed) - 1) // 2]
    bars = [*_steps(iteration, clock), *_sections(profile, iteration, clock), *_moves(iteration)]
    if not bars:
        return None
    kept = sorted(bars, key=lambda bar: -bar.length_ns)[:MAX_BARS]
    return _draw(sorted(kept, key=lambda bar: bar.start_ns), clock, len(bars) - len(kept))


def _draw(bars: Sequence[_Bar], clock: Clock, left_out: int) -> Figure:
    lanes = sorted({bar.lane for bar in bars})
    names = dict.fromkeys(bar.name for bar in bars)
    traces = [_trace([bar for bar in bars if bar.name == name], lanes) for name in names]
    remark = f" ({numbers.exact(left_out)} shorter ones are not shown)" if left_out else ""
    return make_chart(
        traces, LANE * len(lanes) + 130, barmode="overlay", bargap=0.08,
        xaxis=time_axis(f"{clock.name} time{remark}", max(bar.start_ns + bar.length_ns for bar in bars)),
        yaxis=numbered_axis([_lane(lane) for lane in lanes]),
    )  # fmt: skip


def _trace(bars: Sequence[_Bar], lanes: Sequence[int]) -> Any:
    name = escape(bars[0].name)
    return graph_objects().Bar(
        name=name,
        orientation="h",
        y=[lanes.index(bar.lane) for bar in bars],
        base=[seconds(bar.start_ns) for bar in bars],
        x=[seconds(bar.length_ns) for bar in bars],
        marker={"color": bars[0].colour, "line": {"width": 0}},
        text=[escape(bar.label) for bar in bars],
        textposition="inside",
        insidetextanchor="start",
        textangle=0,
        hovertext=[
            join_lines(f"<b>{name}</b>", _label(bar), bar.about, numbers.nanoseconds(bar.length_ns)) for bar in bars
        ],
        hoverinfo="text",
    )


def _label(bar: _Bar) -> str:
    return "" if bar.label == bar.name else escape(bar.label)


def _lane(lane: int) -> str:
    return {STEPS: "steps", 0: "sections", MOVES: "moves"}.get(lane, "inside")


def _steps(iteration: Iteration, clock: Clock) -> Iterator[_Bar]:
    for step in iteration.steps:
        yield _Bar(STEPS, "step", GREY, clock.start_ns(step.span), clock.length_ns(step.span), str(step.number))


def _sections(profile: Profile, iteration: Iteration, clock: Clock) -> Iterator[_Bar]:
    colours = _colours(profile, iteration.samples)
    lanes: list[int] = []
    for sample in iteration.samples:
        lanes.append(0 if sample.parent is None else lanes[sample.parent] + 1)
        about = join_lines(
            f"step {iteration.steps[sample.step].number}" if sample.step is not None else "",
            "raised an exception" if sample.failed else "",
        )
        start, length = clock.start_ns(sample.span), clock.length_ns(sample.span)
        yield _Bar(lanes[-1], sample.section, colours[sample.section], start, length, sample.section, about)


def _colours(profile: Profile, samples: Sequence[Sample]) -> dict[str, str]:
    """The colour of each section: that of its component, or an unused one of the palette."""
    components = component_colours(profile)
    by_section = {sample.section: components.get(sample.component or "") for sample in samples}
    free = [colour for colour in COLOURS if colour not in (*by_section.values(), MOVE_COLOUR)] or [GREY]
    others = [name for name, colour in by_section.items() if colour is None]
    return {name: colour or free[others.index(name) % len(free)] for name, colour in by_section.items()}


def _moves(iteration: Iteration) -> Iterator[_Bar]:
    for move in iteration.moves:
        about = numbers.gigabytes(move.moved_bytes)
        yield _Bar(MOVES, f"weights, {move.direction}", MOVE_COLOUR, move.at_ns, move.host_ns, move.component, about)
