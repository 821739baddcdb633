"""Predicted times on the console and as Markdown."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.prediction_console import prediction_markdown, prediction_notebook, prediction_text
from diffprof.advice.views.prediction_tables import PredictionTable
from tests.advice.views.answers import PREDICTION, predicted_time


def test_every_view_has_the_times() -> None:
    for view in (prediction_text(PREDICTION), prediction_markdown(PREDICTION), prediction_notebook(PREDICTION)):
        assert "h100-sxm" in view and "8.0 s" in view


def test_one_table_can_be_chosen() -> None:
    text = prediction_markdown(PREDICTION, PredictionTable.component)
    assert "| unet | 1.5 s | 6.0 s |" in text and "By kind" not in text


def test_a_notebook_scrolls_where_the_console_counts() -> None:
    nine = replace(PREDICTION, accelerators={f"gpu-{number}": predicted_time(1.0 + number) for number in range(9)})
    assert "and 1 more accelerator\n" in prediction_text(nine)
    assert "more accelerator" not in prediction_notebook(nine)
