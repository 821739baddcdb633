"""Columns as HTML tables: the same cells as on the console, with drawn bars."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.profile_tables import fit_profile_table
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.table_names import ProfileTable

WIDE = 10_000
SHORT = 32
"""Cells up to this length stay on one line."""


def html_table(columns: Sequence[Column], total: bool = False, keys: Sequence[str] = ()) -> Markup:
    """The columns as a table that scrolls sideways; with `total`, the last row is set apart.

    `keys` identify the rows for a page on which they can be clicked.
    """
    if not columns or not columns[0].cells:
        return Markup()
    head = element("tr", *(element("th", column.name, scope="col", class_=_side(column)) for column in columns))
    last = len(columns[0].cells) - 1
    rows = [
        element(
            "tr",
            *(
                _cell(column, number, wraps=place > 0 and column.least is not None)
                for place, column in enumerate(columns)
            ),
            class_="total" if total and number == last else None,
            data_run=keys[number] if keys else None,
            tabindex="0" if keys else None,
        )
        for number in range(last + 1)
    ]
    inside = join(element("thead", head), element("tbody", *rows))
    # Reached by keyboard, as it may have to be scrolled.
    return element("div", element("table", inside), class_="scroll", tabindex="0")


def profile_html_table(profile: Profile, table: ProfileTable, total: bool = False) -> Markup:
    """A table of the profile with all its columns: a page can scroll sideways."""
    return html_table(fit_profile_table(profile, table, 0, WIDE).columns, total)


def _side(column: Column) -> str | None:
    return "right" if column.justify == "right" else None


def _cell(column: Column, number: int, wraps: bool) -> Markup:
    cell = column.cells[number]
    if column.shares is not None:
        return element("td", _share(column.shares[number]), class_="share")
    first, *more = cell.split("\n")
    below = [element("span", line, class_="below") for line in more]
    return element("td", first, *below, class_="wrap" if wraps and len(cell) > SHORT else _side(column))


def _share(share: float) -> Markup:
    """A share and its bar."""
    width = f"width:{100 * min(max(share, 0), 1):.3g}%"
    bar = element("span", element("span", style=width), class_="bar", aria_hidden="true")
    return join(element("span", numbers.percent(share), class_="value"), bar)
