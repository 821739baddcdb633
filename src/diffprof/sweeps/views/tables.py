"""Tables of a sweep: a row for each point, then failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.render.console import render_text
from diffprof.sweeps.records import RUN, Row, SweepResult, TaskOutcome

if TYPE_CHECKING:
    from rich.console import Console

MAX_ROWS = 60
"""The most rows on the console; files have all of them."""

MAX_FAILURES = 20
TEXT_WIDTH = 110
FITS = {True: "yes", False: "no", None: ""}

SETTINGS = ("frames", "batch", "steps", "guidance", "dtype", "gpu")
"""Columns that are shown if they differ between rows, or were varied."""


def sweep_blocks(
    result: SweepResult, most_rows: int | None = None, arrange: Callable[[Sequence[Row]], list[Column]] | None = None
) -> list[Block]:
    """The table, failures and notes; `arrange` replaces the columns of the console."""
    blocks = [_points(result, most_rows, arrange or columns_of)] if result.rows else []
    return [*blocks, *([_failures(result.failures)] if result.failures else [])]


def print_sweep(result: SweepResult, console: Console) -> None:
    """Print the table; if there are many rows, only the first."""
    print_blocks(sweep_blocks(result, MAX_ROWS), console)


def sweep_text(result: SweepResult) -> str:
    """The table as plain text, for Python's ``print``."""
    return render_text(lambda console: print_sweep(result, console), TEXT_WIDTH)


def sweep_markdown(result: SweepResult) -> str:
    """All points as Markdown, for a pull request."""
    return markdown(sweep_blocks(result))


def sweep_notebook(result: SweepResult) -> str:
    """The first points as HTML, for a notebook."""
    from diffprof.render.notebook import blocks_html

    return blocks_html(sweep_blocks(result, MAX_ROWS))


def _points(result: SweepResult, most_rows: int | None, arrange: Callable[[Sequence[Row]], list[Column]]) -> Block:
    rows = result.rows if most_rows is None else result.rows[:most_rows]
    after = []
    if len(rows) < len(result.rows):
        after.append(f"and {numbers.times(len(result.rows) - len(rows), 'point')} more: -o sweep.csv writes them all")
    if result.kept:
        after.append(
            f"{numbers.times(result.kept, 'request')} answered by an earlier sweep; --fresh computes them again"
        )
    return Block(f"Sweep: {numbers.times(len(result.rows), 'point')}", _notes(result), arrange(rows), after)


def _notes(result: SweepResult) -> list[str]:
    if any(row.source == RUN for row in result.rows):
        return ["measured: median, shortest and longest call"]
    if any(row.seconds is not None for row in result.rows):
        return ["times are predicted: nine of ten measured times should fall within the interval"]
    return []


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of the console: settings that differ between rows, and all results that are known."""
    columns = [
        Column("model", [row.model for row in rows], justify="left", style="bold", least=12, cut=True),
        *_optional("size", [_size(row) for row in rows]),
    ]
    for name in SETTINGS:
        values = [getattr(row, name) for row in rows]
        if name == "steps" or name == "gpu" or len(set(values)) > 1 or (name == "frames" and any(values)):
            columns += _optional(name, [_cell(value) for value in values], "left" if name == "gpu" else "right")
    return [
        *columns,
        Column("MACs", [numbers.macs(row.macs) for row in rows]),
        *_optional("memory", [_bytes(row.allocated_bytes) for row in rows]),
        *_optional("fits", [FITS[row.fits] for row in rows]),
        *_optional("time", ["" if row.seconds is None else numbers.estimate(row.seconds) for row in rows]),
        *_optional("interval", [_interval(row) for row in rows], rank=2),
        *_optional(
            "energy", ["" if row.energy_joules is None else numbers.joules(row.energy_joules) for row in rows], rank=3
        ),
        Column("by", [row.source for row in rows], rank=4, justify="left", style="dim"),
    ]


def columns_for_page(rows: Sequence[Row]) -> list[Column]:
    """The columns for a page, with the request below the model's name, so that a phone has space for the results."""
    named = {column.heading: column for column in columns_of(rows)}
    asked = [named.pop(name) for name in ("size", *SETTINGS) if name in named and name != "gpu"]
    below = [
        " · ".join(_in_words(column.heading, column.cells[place]) for column in asked if column.cells[place])
        for place in range(len(rows))
    ]
    model = named.pop("model")
    cells = [f"{name}\n{words}" if words else name for name, words in zip(model.cells, below, strict=True)]
    first = [named.pop(name) for name in ("gpu", "time", "memory", "fits") if name in named]
    return [replace(model, cells=cells), *first, *named.values()]


def _in_words(heading: str, cell: str) -> str:
    return cell if heading in ("size", "dtype") else f"{heading} {cell}"


def _optional(heading: str, cells: Sequence[str], justify: Any = "right", rank: int = 0) -> list[Column]:
    return [Column(heading, cells, rank=rank, justify=justify)] if any(cells) else []


def _size(row: Row) -> str:
    return f"{row.width} x {row.height}" if row.width and row.height else ""


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _bytes(size: int | None) -> str:
    return "" if size is None else numbers.gibibytes(size)


def _interval(row: Row) -> str:
    if row.low_seconds is None or row.high_seconds is None:
        return ""
    return f"{numbers.estimate(row.low_seconds)} to {numbers.estimate(row.high_seconds)}"


def _failures(failures: Sequence[TaskOutcome]) -> Block:
    """Failures, grouped by reason."""
    reasons: dict[str, list[TaskOutcome]] = {}
    for failure in failures:
        reasons.setdefault(failure.error or "", []).append(failure)
    lines = []
    for reason, outcomes in list(reasons.items())[:MAX_FAILURES]:
        more = f" and {len(outcomes) - 1:,} more" if len(outcomes) > 1 else ""
        lines.append(f"- {point_name(outcomes[0])}{more}: {reason}")
    if len(reasons) > MAX_FAILURES:
        lines.append(f"- and {numbers.times(len(reasons) - MAX_FAILURES, 'reason')} more")
    return Block(f"{numbers.times(len(failures), 'request')} failed", lines)


def point_name(outcome: TaskOutcome) -> str:
    """A short description of a point's request."""
    request = outcome.task.request
    settings = ", ".join(f"{name} {value}" for name, value in request.arguments.items())
    return f"{request.model} ({settings})" if settings else str(request.model)
