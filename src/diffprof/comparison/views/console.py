"""A comparison on the console, and as Markdown for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.comparison.compare import Comparison
from diffprof.comparison.views.tables import TOP, blocks
from diffprof.render.blocks import markdown, print_blocks
from diffprof.render.console import render_text

if TYPE_CHECKING:
    from rich.console import Console

TEXT_WIDTH = 100


def print_comparison(comparison: Comparison, console: Console, top: int = TOP) -> None:
    """Print the differences: conditions, counts and times."""
    print_blocks(blocks(comparison, top), console)


def comparison_markdown(comparison: Comparison, top: int = TOP) -> str:
    """The comparison as Markdown."""
    return markdown(blocks(comparison, top))


def comparison_text(comparison: Comparison, top: int = TOP) -> str:
    """The comparison as plain text, for a file and for Python's ``print``."""
    return render_text(lambda console: print_comparison(comparison, console, top), TEXT_WIDTH)


def comparison_notebook(comparison: Comparison) -> str:
    """The comparison as HTML, for a notebook."""
    from diffprof.render.notebook import blocks_html  # imported here, because it imports every table

    return blocks_html(blocks(comparison, TOP))
