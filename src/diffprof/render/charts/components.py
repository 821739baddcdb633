"""A chart of the components and their modules as nested blocks, sized by cost, that can be zoomed into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.breakdown.section_tree import SectionNode, section_tree
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    component_colours,
    escape,
    graph_objects,
    join_lines,
    lighten,
    make_chart,
    text_colour_on,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 480
FLAME = 60
"""Height of a level of sections."""
DEEPEST = 9
MAX_BLOCKS = 1_200
LEVELS_AT_ONCE = 5


_Path = tuple[str, ...]


class Measure(str, Enum):
    """What the size of a block shows."""

    macs = "macs"
    parameters = "parameters"
    time = "time"


def components_chart(
    profile: Profile,
    by: Measure = Measure.macs,
    most_blocks: int = MAX_BLOCKS,
    colours: Mapping[str, str] | None = None,
) -> Figure | None:
    """The components and their modules; by time, the sections. None if there is nothing to show.

    The module tree is cut at the depth that has at most `most_blocks` modules. `colours` are the colours of the
    components on a page about several profiles.
    """
    own = colours or component_colours(profile)
    blocks = _sections(profile, own) if by is Measure.time else _modules(profile, by, most_blocks, own)
    if not blocks or not blocks[0].amount:
        return None
    return _icicle(blocks, as_flames=by is Measure.time)


@dataclass(frozen=True)
class _Block:
    """One block: its place in the tree, and its text."""

    path: _Path
    """Empty for the root."""
    name: str
    amount: float
    size: str
    """The amount as text."""
    about: str
    """More, shown on hover."""
    colour: str


def _modules(profile: Profile, by: Measure, most_blocks: int, colours: Mapping[str, str]) -> list[_Block]:
    format_amount: Callable[[int], str] = _macs if by is Measure.macs else _parameters
    total = profile.total.macs if by is Measure.macs else profile.total.parameters
    whole = _Block(
        (), "generation", total, format_amount(total), numbers.times(len(profile.components), "component"), GREY
    )
    rows = [row for row in _rows(profile, most_blocks) if _amount(row, by)]
    return [whole, *(_block(row, by, format_amount, colours[row.component]) for row in rows)]


def _rows(profile: Profile, most: int) -> list[ModuleRow]:
    for depth in range(DEEPEST, 0, -1):
        rows = module_table(profile, depth)
        if len(rows) <= most:
            return rows
    return module_table(profile, 0)


def _amount(row: ModuleRow, by: Measure) -> int:
    return row.macs if by is Measure.macs else row.parameters


def _block(row: ModuleRow, by: Measure, format_amount: Callable[[int], str], colour: str) -> _Block:
    path = (row.component, *(row.path.split(".") if row.path else ()))
    many = f"{numbers.exact(row.repeats)} in total" if row.repeats > 1 else ""
    amount = _amount(row, by)
    return _Block(
        path=path,
        name=_name(path),
        amount=amount,
        size=format_amount(amount),
        about=join_lines(
            escape(".".join(path)),
            escape(row.class_name) + (f" ({many})" if many else ""),
            numbers.macs(row.macs),
            _parameters(row.parameters),
            f"{numbers.exact(row.calls)} calls" if row.calls else "never called",
        ),
        colour=lighten(colour, min(0.12 * row.depth, 0.6)),
    )


def _name(path: Sequence[str]) -> str:
    """The last part of the path; an index also gets the part before it."""
    numbered = len(path) > 1 and path[-1].replace("-", "").isdecimal()
    return ".".join(path[-2:]) if numbered else path[-1]


def _sections(profile: Profile, colours: Mapping[str, str]) -> list[_Block]:
    timed = profile.measured.timed_iterations if profile.measured else ()
    if not timed:
        return []
    clock = clock_of(timed)
    wall = sum(clock.length_ns(one.wall) for one in timed) / len(timed)
    whole = _Block((), "generation", wall, numbers.nanoseconds(wall), f"mean of {len(timed)}", GREY)
    return [
        whole,
        *(_section(node, len(timed), colours.get(node.component or "", GREY)) for node in section_tree(timed)),
    ]


def _section(node: SectionNode, iterations: int, colour: str) -> _Block:
    time = node.total_ns / iterations
    return _Block(
        path=node.path,
        name=node.path[-1],
        amount=time,
        size=numbers.nanoseconds(time),
        about=join_lines(
            escape(" > ".join(node.path)),
            f"{numbers.significant(node.count / iterations)} times in a generation",
            f"{numbers.nanoseconds(node.total_ns / node.count)} each",
        ),
        colour=colour,
    )


def _icicle(blocks: Sequence[_Block], as_flames: bool) -> Figure:
    """Draw the blocks from left to right, or as flames from the top down."""
    own = _own_areas(blocks)
    whole = blocks[0].amount
    text = [f"{block.size} · {numbers.percent(block.amount / whole)}" for block in blocks]
    numbered = {block.path: str(number) for number, block in enumerate(blocks)}
    trace = graph_objects().Icicle(
        ids=list(numbered.values()),
        parents=[numbered[block.path[:-1]] if block.path else "" for block in blocks],
        labels=[escape(block.name) for block in blocks],
        values=own,
        branchvalues="remainder",
        text=text,
        hovertext=[join_lines(about, size) for about, size in zip((one.about for one in blocks), text, strict=True)],
        hoverinfo="text",
        textinfo="label+text",
        # Plotly's default is a grey that is hard to read on medium shades.
        textfont={"color": [text_colour_on(block.colour) for block in blocks]},
        textposition="middle left",
        sort=False,
        leaf={"opacity": 1},
        maxdepth=LEVELS_AT_ONCE,
        tiling={"orientation": "v" if as_flames else "h", "pad": 1},
        pathbar={"visible": True, "thickness": 26, "side": "top"},
        marker={"colors": [block.colour for block in blocks], "line": {"width": 0}},
    )
    depth = max(len(block.path) for block in blocks)
    height = min(HEIGHT, FLAME * depth + 70) if as_flames else HEIGHT
    return make_chart([trace], height, margin={"l": 0, "r": 0, "t": 30, "b": 0})


def _own_areas(blocks: Sequence[_Block]) -> list[float]:
    """Each block's share of the whole, without its nested blocks.

    Nested blocks can add up to more than the block around them, because weights that two modules share count once in
    the component but once in each module. They are then scaled down to fit.
    """
    amount = {block.path: block.amount for block in blocks}
    inside = _nested_sums(blocks, amount)
    area: dict[_Path, float] = {blocks[0].path: 1.0}
    for block in blocks[1:]:
        around = block.path[:-1]
        area[block.path] = area[around] * block.amount / max(amount[around], inside[around])
    taken = _nested_sums(blocks, area)
    return [float(f"{max(area[block.path] - taken.get(block.path, 0), 0):.6g}") for block in blocks]


def _nested_sums(blocks: Sequence[_Block], of: Mapping[_Path, float]) -> dict[_Path, float]:
    """The sum of the blocks directly inside each block."""
    sums: dict[_Path, float] = {}
    for block in blocks[1:]:
        around = block.path[:-1]
        sums[around] = sums.get(around, 0) + of[block.path]
    return sums


def _macs(number: int) -> str:
    return numbers.macs(number, brief=True)


def _parameters(number: int) -> str:
    return f"{numbers.parameters(number, brief=True)} parameters"
