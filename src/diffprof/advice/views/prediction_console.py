"""Predicted times as text, Markdown and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.advice.views.prediction_tables import PredictionTable, blocks
from diffprof.record.prediction import Prediction
from diffprof.render.blocks import markdown, print_blocks
from diffprof.render.console import render_text
from diffprof.render.notebook import blocks_html

if TYPE_CHECKING:
    from rich.console import Console

TEXT_WIDTH = 110


def print_prediction(
    prediction: Prediction, console: Console, by: PredictionTable | None = None, verbose: bool = False
) -> None:
    """Print the times by accelerator, component and kind of operation, or one of these tables."""
    print_blocks(blocks(prediction, by, verbose), console)


def prediction_text(prediction: Prediction) -> str:
    """The prediction as plain text, for Python's ``print``."""
    return render_text(lambda console: print_prediction(prediction, console), TEXT_WIDTH)


def prediction_markdown(prediction: Prediction, by: PredictionTable | None = None, verbose: bool = False) -> str:
    """The prediction as Markdown, for a pull request."""
    return markdown(blocks(prediction, by, verbose))


def prediction_notebook(prediction: Prediction) -> str:
    """The prediction as HTML, for a notebook."""
    return blocks_html(blocks(prediction, most=None))
