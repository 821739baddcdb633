"""Predicted memory as text, Markdown, HTML and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.advice.views.fit_tables import fit_blocks
from diffprof.record.fit import Fit
from diffprof.render.blocks import markdown, print_blocks
from diffprof.render.console import render_text
from diffprof.render.csv import table_csv

if TYPE_CHECKING:
    from rich.console import Console

TEXT_WIDTH = 110

COLUMNS = (
    *("stage", "component", "module", "allocated_bytes", "reserved_bytes", "device_bytes", "weight_bytes"),
    *("activation_bytes", "kept_bytes", "workspace_bytes"),
)


def print_fit(fit: Fit, console: Console, verbose: bool = False) -> None:
    """Print the verdict, the stages, the host and the changes."""
    print_blocks(fit_blocks(fit, verbose), console)


def fit_text(fit: Fit) -> str:
    """Predicted memory as plain text, for Python's ``print``."""
    return render_text(lambda console: print_fit(fit, console), TEXT_WIDTH)


def fit_markdown(fit: Fit) -> str:
    """Predicted memory as Markdown, for a pull request."""
    return markdown(fit_blocks(fit))


def fit_notebook(fit: Fit) -> str:
    """Predicted memory as HTML, for a notebook."""
    from diffprof.render.notebook import blocks_html

    return blocks_html(fit_blocks(fit))


def fit_csv(fit: Fit) -> str:
    """Predicted memory as CSV, with a row for each stage."""
    rows = [
        {
            **{name: getattr(stage, name) for name in COLUMNS if name != "weight_bytes"},
            "weight_bytes": sum(stage.weights.values()),
        }
        for stage in fit.stages
    ]
    return table_csv(COLUMNS, rows)
