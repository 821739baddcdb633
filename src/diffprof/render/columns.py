"""Tables that fit the terminal: in a narrow one, the least important columns are dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from diffprof.render.clean import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

GAP = 2
NARROWEST = 8


@dataclass(frozen=True)
class Column:
    """One column: its heading, its cells, and how it behaves in a narrow terminal.

    A cell may have several lines. `least` is the width down to which cells may be wrapped (or cut, if `cut`);
    None forbids it. With `cut_below`, only the lines below a cell's first are cut. Columns with the highest `rank`
    are dropped first, those of rank 0 never.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    justify: Literal["left", "right"] = "right"
    least: int | None = None
    cut: bool = False
    cut_below: bool = False
    style: str = ""
    shares: Sequence[float] | None = None
    """The shares that the cells show, for a page to draw as bars."""
    key: str = ""
    """Identifies the column, independent of its heading, for views that arrange columns differently."""

    @property
    def name(self) -> str:
        """The heading on one line."""
        return self.heading.replace("-\n", "").replace("\n", " ").strip()

    @property
    def width(self) -> int:
        from rich.cells import cell_len

        return max(cell_len(line) for text in (self.heading, *self.cells) for line in (text.split("\n") or [""]))

    @property
    def smallest(self) -> int:
        return self.width if self.least is None else min(self.least, self.width)


def minimum_width(columns: Sequence[Column]) -> int:
    """The smallest width that the columns fit into."""
    return sum(column.smallest for column in columns) + GAP * (len(columns) - 1)


@dataclass(frozen=True)
class FittedColumns:
    """The columns that fit, and the names of those that were dropped."""

    columns: Sequence[Column]
    left_out: Sequence[str] = ()


def fit_columns(columns: Sequence[Column], width: int) -> FittedColumns:
    """The columns that fit into `width`: the least important ones are dropped, then the others wrap more."""
    kept = list(columns)
    while minimum_width(kept) > width:
        least_important = max(column.rank for column in kept)
        if least_important == 0:
            kept = [replace(column, least=column.least and min(column.least, NARROWEST)) for column in kept]
            break
        # Columns of one rank go together: one of two related numbers would mislead.
        kept = [column for column in kept if column.rank < least_important]
    headings = {column.heading for column in kept}
    return FittedColumns(kept, [column.name for column in columns if column.heading not in headings])


def print_table(fitted: FittedColumns, console: Console, total: bool = False) -> None:
    """Print the table and, below it, the names of the columns that did not fit."""
    from rich.text import Text

    console.print(_table(fitted.columns, console.width, total))
    if fitted.left_out:
        names = ", ".join(fitted.left_out)
        console.print(Text(f"Columns that do not fit: {names} (--csv has them all)", style="dim"))


def _table(columns: Sequence[Column], width: int, total: bool) -> Table:
    """The columns as a rich table of at most `width`; with `total`, the last row is set apart."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        # One cell of padding and the cell of the box between columns make the gap.
        padding=(0, GAP - 1, 0, 0),
        pad_edge=False,
        header_style="bold",
    )
    widths = _widths(columns, width)
    for column, cells in zip(columns, widths, strict=True):
        result.add_column(
            Text(column.heading),
            justify=column.justify,
            style=column.style,
            # Numbers are wrapped, never cut: half a number is a wrong number.
            no_wrap=column.cut,
            width=cells,
            overflow="ellipsis" if column.cut else "fold",
            vertical="top",
        )
    count = len(columns[0].cells)
    for number in range(count):
        if total and number == count - 1:
            result.add_section()
        row = zip(columns, widths, strict=True)
        result.add_row(*(_cell(column.cells[number], cells if column.cut_below else None) for column, cells in row))
    return result


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column: its minimum; remaining space goes to the first columns that can use it."""
    left = max(0, width - minimum_width(columns))
    widths = []
    for column in columns:
        more = min(left, column.width - column.smallest)
        left -= more
        widths.append(column.smallest + more)
    return widths


def _cell(text: str, cut_below_to: int | None) -> Text:
    from rich.text import Text

    # Text, not markup: a name such as "[red]" stays a name.
    first, *more = (clean(line) for line in text.split("\n"))
    cell = Text(first)
    for line in more:
        below = Text(line, style="dim")
        if cut_below_to is not None:
            below.truncate(cut_below_to, overflow="ellipsis")
        cell.append("\n")
        cell.append_text(below)
    return cell
