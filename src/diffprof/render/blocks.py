"""Blocks of a title, lines and a table, which can be printed to a console or written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diffprof.render.clean import clean
from diffprof.render.columns import Column, fit_columns, print_table

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Block:
    """A title, lines below it, a table below those and code at the end; each is optional."""

    title: str = ""
    lines: Sequence[str] = ()
    columns: Sequence[Column] = ()
    after: Sequence[str] = ()
    """Lines below the table."""
    code: Sequence[str] = ()
    """Lines of a program at the end, shown unchanged so that they can be copied."""
    folded: bool = False
    """Whether a page shows only the title until it is opened."""
    has_total: bool = False
    """Whether the last row of the table is the sum of the others."""


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    """Print the blocks, with an empty line between them."""
    from rich.text import Text

    for number, block in enumerate(blocks):
        if number:
            console.print()
        if block.title:
            console.print(Text(clean(block.title), style="bold"))
        for line in block.lines:
            console.print(Text(clean(line)))
        if block.columns:
            print_table(fit_columns(block.columns, console.width), console)
        for line in block.after:
            console.print(Text(clean(line)))
        for line in block.code:
            console.print(Text(clean(line)), soft_wrap=True)


def markdown(blocks: Sequence[Block]) -> str:
    """The blocks as GitHub Markdown; names from outside are escaped."""
    parts = []
    for number, block in enumerate(blocks):
        level = "##" if number == 0 else "###"
        lists = [[f"- {_escape(line)}" for line in lines] for lines in (block.lines, block.after)]
        parts += [
            "\n".join(lines)
            for lines in (
                [f"{level} {_escape(block.title)}"] if block.title else [],
                lists[0],
                _table(block),
                lists[1],
                _fence(block.code),
            )
            if lines
        ]
    return "\n\n".join(parts) + "\n"


def _table(block: Block) -> list[str]:
    if not block.columns:
        return []
    sides = ["---" if column.justify == "left" else "---:" for column in block.columns]
    rows = zip(*(column.cells for column in block.columns), strict=True)
    return [
        _row([column.name for column in block.columns]),
        f"| {' | '.join(sides)} |",
        *(_row([cell.replace("\n", ", ") for cell in row]) for row in rows),
    ]


def _fence(code: Sequence[str]) -> list[str]:
    """A fenced code block; the fence is longer than any run of backticks in the code."""
    if not code:
        return []
    lines = [clean(line) for line in code]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}python", *lines, fence]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    """Escape every character that Markdown would interpret."""
    plain = clean(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{letter}" if letter in "\\`*_[]|#~@" else letter for letter in plain)
