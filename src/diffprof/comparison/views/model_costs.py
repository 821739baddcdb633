"""A table of the cost of several models as text, Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from diffprof.comparison.model_costs import ModelCost, relative_costs
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.render.console import render_text
from diffprof.render.csv import table_csv
from diffprof.render.headline import executed_steps, requested_size

TITLE = "What one generation costs"
COLUMNS = (
    *("name", "size", "steps", "step_macs", "macs", "flops", "parameters", "weights", "peak_memory"),
    *("relative", "problem"),
)
TEXT_WIDTH = 120


def cost_blocks(costs: Sequence[ModelCost]) -> list[Block]:
    """The table, and notes about the settings it is based on."""

    def each(value: Callable[[Profile], str]) -> list[str]:
        return [value(one.profile) if one.profile else "-" for one in costs]

    figures = [one.figures() for one in costs]
    relative = relative_costs(costs)
    columns = [
        Column("model", [one.name for one in costs], justify="left", least=12),
        Column("size", each(requested_size), justify="left", rank=2),
        Column("steps", each(executed_steps), rank=2),
        Column("MACs per step", [_short(row, "step_macs") for row in figures], rank=3),
        Column("MACs", [_short(row, "macs") for row in figures]),
        Column("relative", ["-" if one is None else numbers.factor(one) for one in relative]),
        Column("parameters", [numbers.parameters(row["parameters"]) if row else "-" for row in figures], rank=4),
        Column("weights", [numbers.gigabytes(row["weights"]) if row else "-" for row in figures], rank=5),
        Column("peak memory", [numbers.gigabytes(row["peak_memory"]) if row else "-" for row in figures], rank=6),
    ]
    notes = [
        "Each with the settings that are recommended for it, else the pipeline's own; relative to the first.",
        "Peak memory is all weights and the largest activations of a call.",
        *(f"{one.name}: {one.problem}" for one in costs if one.problem),
    ]
    return [Block(TITLE, (), columns, notes)]


def costs_markdown(costs: Sequence[ModelCost]) -> str:
    """The table as Markdown."""
    return markdown(cost_blocks(costs))


def print_costs(costs: Sequence[ModelCost], console: Any) -> None:
    """Print the table."""
    print_blocks(cost_blocks(costs), console)


def costs_text(costs: Sequence[ModelCost]) -> str:
    """The table as plain text."""
    return render_text(lambda console: print_costs(costs, console), TEXT_WIDTH)


def costs_csv(costs: Sequence[ModelCost]) -> str:
    """The table as CSV: a row for each model, with exact numbers and no units."""
    return table_csv(COLUMNS, _rows(costs))


def costs_json(costs: Sequence[ModelCost]) -> str:
    """The table as JSON."""
    return json.dumps(_rows(costs), indent=1) + "\n"


def _rows(costs: Sequence[ModelCost]) -> list[dict[str, Any]]:
    empty = dict.fromkeys(COLUMNS)
    return [
        {
            **empty,
            **one.figures(),
            "name": one.name,
            "size": requested_size(one.profile) if one.profile else None,
            "relative": relative,
            "problem": one.problem or None,
        }
        for one, relative in zip(costs, relative_costs(costs), strict=True)
    ]


def _short(row: dict[str, int], name: str) -> str:
    return numbers.short(row[name]) if row else "-"
