"""Advice as text, Markdown, HTML and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.advice.views.advice_tables import advice_blocks
from diffprof.record.advice import Advice
from diffprof.render.blocks import markdown, print_blocks
from diffprof.render.console import render_text
from diffprof.render.csv import table_csv

if TYPE_CHECKING:
    from rich.console import Console

TEXT_WIDTH = 110
COLUMNS = (
    *("option", "model", "risk", "results", "total_seconds", "low_seconds", "high_seconds", "energy_joules"),
    *("price_usd", "allocated_bytes", "reserved_bytes", "device_bytes", "host_bytes", "fits", "on_front"),
    *("fit_command", "predict_command"),
)


def advice_markdown(advice: Advice) -> str:
    """The advice as Markdown, for a pull request."""
    return markdown(advice_blocks(advice))


def print_advice(advice: Advice, console: Console, verbose: bool = False) -> None:
    """Print the request, the options, and the code of the best ones."""
    print_blocks(advice_blocks(advice, verbose), console)


def advice_text(advice: Advice) -> str:
    """The advice as plain text, for Python's ``print``."""
    return render_text(lambda console: print_advice(advice, console), TEXT_WIDTH)


def advice_notebook(advice: Advice) -> str:
    """The advice as HTML, for a notebook."""
    from diffprof.render.notebook import blocks_html

    return blocks_html(advice_blocks(advice))


def advice_csv(advice: Advice) -> str:
    """The advice as CSV: a row for the request, and one for each option."""
    rows = []
    for option in (advice.requested, *advice.options):
        plain = {name: getattr(option, name) for name in COLUMNS if hasattr(option, name)}
        peak = {name: getattr(option.peak, name) for name in ("allocated_bytes", "reserved_bytes", "device_bytes")}
        rows.append({**plain, **peak, "option": option.name, "host_bytes": option.host.peak_bytes})
    return table_csv(COLUMNS, rows)
