"""A crosscheck as text, Markdown, JSON and CSV, with one row for each tool."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from diffprof.crosscheck.differences import CountDifference, CrosscheckRow, crosscheck_table
from diffprof.crosscheck.result import DIFFPROF, REAL_PRODUCTS, SQUARED, Count, Crosscheck
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("tool", "macs", "share", "seconds", "peak_bytes", "missed", "counted_besides", "reason")


def print_crosscheck(crosscheck: Crosscheck, console: Console) -> None:
    """Print a row for each tool, and what it missed."""
    print_blocks(crosscheck_blocks(crosscheck), console)


def crosscheck_markdown(crosscheck: Crosscheck) -> str:
    """The crosscheck as Markdown, for an issue."""
    return markdown(crosscheck_blocks(crosscheck))


def crosscheck_blocks(crosscheck: Crosscheck) -> list[Block]:
    """The call, a row for each tool, and notes about the table."""
    rows = crosscheck_table(crosscheck)
    columns = [
        Column("tool", [row.count.title for row in rows], justify="left", least=16),
        Column("MACs", [_macs(row) for row in rows]),
        Column("vs diffprof", ["" if row.share is None else numbers.percent_of(row.share) for row in rows]),
        Column("time", [_seconds(row) for row in rows], rank=2),
        Column("memory", [_memory(row) for row in rows], rank=1),
        Column("what it missed or overcounted", [_findings(row) for row in rows], justify="left", least=28),
    ]
    return [
        Block(_headline(crosscheck), [f"inputs: {crosscheck.inputs}"]),
        Block(columns=columns),
        Block(lines=NOTES),
    ]


NOTES = (
    "Time is that of the count alone, with model and inputs ready; memory is the peak of the whole process.",
    "Weights are random, in float32, in the real architecture; inputs are those that the pipeline passes.",
    "The attention patch (thop-sdpa) uses N² for query tokens times key tokens, as in the guides it comes from.",
)


def crosscheck_json(crosscheck: Crosscheck) -> str:
    """The whole crosscheck as JSON."""
    plain = dataclasses.asdict(crosscheck)
    for written, row in zip(plain["counts"], crosscheck_table(crosscheck), strict=True):
        written["share"] = row.share
        written["differences"] = [dataclasses.asdict(difference) for difference in row.differences]
    return json.dumps(plain, indent=2) + "\n"


def crosscheck_csv(crosscheck: Crosscheck) -> str:
    """The table as CSV: exact numbers, no units."""
    return table_csv(COLUMNS, [_plain_row(row) for row in crosscheck_table(crosscheck)])


def _plain_row(row: CrosscheckRow) -> dict[str, Any]:
    count = row.count
    return {
        "tool": count.tool,
        "macs": count.macs,
        "share": row.share,
        "seconds": count.seconds,
        "peak_bytes": count.peak_bytes,
        "missed": None if count.macs is None else -sum(d.macs for d in row.differences if d.is_missing),
        "counted_besides": None if count.macs is None else sum(d.macs for d in row.differences if not d.is_missing),
        "reason": _reason(count),
    }


def _headline(crosscheck: Crosscheck) -> str:
    called = crosscheck.component if crosscheck.method == "forward" else f"{crosscheck.component}.{crosscheck.method}"
    size = numbers.parameters(crosscheck.parameters)
    return f"{crosscheck.model} · one call of {called} ({crosscheck.class_name}, {size} parameters)"


def _macs(row: CrosscheckRow) -> str:
    return "" if row.count.macs is None else numbers.macs(row.count.macs)


def _seconds(row: CrosscheckRow) -> str:
    return "" if row.count.seconds is None else numbers.seconds(row.count.seconds)


def _memory(row: CrosscheckRow) -> str:
    return "" if row.count.peak_bytes is None else numbers.gigabytes(row.count.peak_bytes)


def _findings(row: CrosscheckRow) -> str:
    if row.count.reason:
        return _reason(row.count)
    if row.count.tool == DIFFPROF:
        return "(reference)"
    return "; ".join(map(_finding, row.differences)) or "nothing"


def _reason(count: Count) -> str:
    if count.needed_bytes is None or count.free_bytes is None:
        return count.reason
    needed, free = numbers.gigabytes(count.needed_bytes), numbers.gigabytes(count.free_bytes)
    return f"{count.reason}: it takes about {needed}, and {free} are free"


def _finding(difference: CountDifference) -> str:
    amount = numbers.macs(abs(difference.macs))
    if difference.part == SQUARED:
        few = " too few" if difference.is_missing else ""
        return f"{difference.part}: {amount}{few}"
    if difference.is_missing:
        return f"missed {amount} of {difference.part}"
    if difference.part in REAL_PRODUCTS:
        return f"{amount} too many for {difference.part}"
    return f"{difference.part} counted as {amount}"
