"""Print labelled lines, and render console output as plain text."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from diffprof.render.clean import clean

if TYPE_CHECKING:
    from rich.console import Console

LABEL_WIDTH = 8
_ASCII = str.maketrans({"·": "-", "ᵀ": "T", "…": "~"})


def render_text(show: Callable[[Console], None], width: int, encoding: str = "utf-8") -> str:
    """The output of `show` as text, without colours and trailing spaces."""
    from rich.console import Console

    # No detection of the terminal, so that the text is the same on every machine.
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=file, width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        show(console)
    text = captured.get().translate(_ASCII) if console.options.ascii_only else captured.get()
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def print_lines(lines: Sequence[tuple[str, str]], console: Console) -> None:
    """Print lines with their labels, and an empty line below them."""
    before = ""
    for label, line in lines:
        print_labelled(console, "" if label == before else label, line)
        before = label
    if lines:
        console.print()


def print_labelled(console: Console, label: str, line: str) -> None:
    """Print a line with a label in front of it; the line wraps beside the label."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if console.width < 5 * LABEL_WIDTH:
        console.print(Padding(Text(clean(f"{label}: {line}" if label else line)), 0))
        return
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=LABEL_WIDTH, style="bold")
    grid.add_column(overflow="fold")
    grid.add_row(Text(label), Text(clean(line)))
    console.print(grid)
