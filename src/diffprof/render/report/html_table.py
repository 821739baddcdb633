"""Columns as HTML tables: the cells of the console, with drawn bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import component_colours
from diffprof.render.columns import Column
from diffprof.render.profile_tables import fit_profile_table
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.table_names import ProfileTable

WIDE = 10_000
SHORT = 32
"""Cells up to this length stay on one line."""

COMPONENT = "component"
FIRST = (COMPONENT, "total MACs", "share")
"""The columns that come first in the table of components: a phone shows only these."""


def html_table(
    columns: Sequence[Column], total: bool = False, keys: Sequence[str] = (), colours: Mapping[str, str] | None = None
) -> Markup:
    """The columns as a table that scrolls sideways; with `total`, the last row is set apart.

    `keys` identify the rows on a page where they can be clicked. `colours` are the colours of the components, in which
    their bars are drawn.
    """
    if not columns or not columns[0].cells:
        return Markup()
    head = element("tr", *(element("th", column.name, scope="col", class_=_side(column)) for column in columns))
    last = len(columns[0].cells) - 1
    owners = next((column.cells for column in columns if column.name == COMPONENT), ("",) * (last + 1))
    bars = [(colours or {}).get(owner.split("\n")[0]) for owner in owners]
    rows = [
        element(
            "tr",
            *(
                _cell(column, number, place > 0 and column.least is not None, bars[number])
                for place, column in enumerate(columns)
            ),
            class_="total" if total and number == last else None,
            data_run=keys[number] if keys else None,
            tabindex="0" if keys else None,
        )
        for number in range(last + 1)
    ]
    inside = join(element("thead", head), element("tbody", *rows))
    # Focusable, so that it can be scrolled with the keyboard.
    return element("div", element("table", inside), class_="scroll", tabindex="0")


def profile_html_table(profile: Profile, table: ProfileTable, total: bool = False) -> Markup:
    """A table of the profile with all its columns: a page can scroll sideways."""
    columns = fit_profile_table(profile, table, 0, WIDE).columns
    if table is ProfileTable.component:
        columns = _cost_first(columns)
    return html_table(columns, total, colours=component_colours(profile))


def _cost_first(columns: Sequence[Column]) -> list[Column]:
    """Put the columns of `FIRST` first, and the class below the name of the component."""
    named = {column.name: column for column in columns}
    classes = named.pop("class", None)
    if classes is not None:
        lines = zip(named[COMPONENT].cells, classes.cells, strict=True)
        cells = [f"{name}\n{class_}" if class_ else name for name, class_ in lines]
        named[COMPONENT] = replace(named[COMPONENT], cells=cells)
    return [*(named[name] for name in FIRST), *(column for name, column in named.items() if name not in FIRST)]


def _side(column: Column) -> str | None:
    return "right" if column.justify == "right" else None


def _cell(column: Column, number: int, wraps: bool, bar_colour: str | None) -> Markup:
    cell = column.cells[number]
    if column.shares is not None:
        return element("td", _share(column.shares[number], bar_colour), class_="share")
    first, *more = cell.split("\n")
    below = [element("span", line, class_="below") for line in more]
    return element("td", first, *below, class_="wrap" if wraps and len(cell) > SHORT else _side(column))


def _share(share: float, colour: str | None) -> Markup:
    """A share and its bar."""
    style = f"width:{100 * min(max(share, 0), 1):.3g}%" + (f";background:{colour}" if colour else "")
    bar = element("span", element("span", style=style), class_="bar", aria_hidden="true")
    return join(element("span", numbers.percent(share), class_="value"), bar)
