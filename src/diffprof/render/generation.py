"""What was generated, as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diffprof.render import numbers
from diffprof.render.columns import Column, fitting, print_table

if TYPE_CHECKING:
    from rich.console import Console

UNKNOWN = "-"
NO_PICTURE = "no picture"


@dataclass(frozen=True)
class GenerationRow:
    """One model: what it took, or nothing where it made no picture or was not measured."""

    model: str
    made: bool = True
    seconds: float | None = None
    macs: int | None = None
    flops_per_second: float | None = None
    peak_memory_bytes: int | None = None
    parameters: int | None = None
    """Of the whole pipeline."""
    steps: int | None = None
    """As executed."""


def print_generations(rows: Sequence[GenerationRow], console: Console) -> None:
    """A row for each model."""
    columns = [
        Column("model", [row.model for row in rows], justify="left", style="bold", least=12),
        Column("steps", _cells(rows, lambda row: row.steps, numbers.exact), rank=3),
        Column("time", [_time(row) for row in rows]),
        Column("parameters", _cells(rows, lambda row: row.parameters, numbers.parameters), rank=4),
        Column("MACs", _cells(rows, lambda row: row.macs, numbers.short)),
        Column("throughput", _cells(rows, lambda row: row.flops_per_second, numbers.flops_per_second), rank=1),
        Column("peak memory", _cells(rows, lambda row: row.peak_memory_bytes, numbers.gigabytes), rank=2),
    ]
    print_table(fitting(columns, console.width), console)


def _cells(
    rows: Sequence[GenerationRow], figure: Callable[[GenerationRow], Any], shown: Callable[[Any], str]
) -> list[str]:
    figures = [figure(row) for row in rows]
    return [UNKNOWN if one is None else shown(one) for one in figures]


def _time(row: GenerationRow) -> str:
    if not row.made:
        return NO_PICTURE
    return UNKNOWN if row.seconds is None else numbers.duration(row.seconds)
