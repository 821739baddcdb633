"""Advice on the console, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io

from diffprof.advice.views.advice_views import COLUMNS, advice_csv, advice_markdown, advice_notebook, advice_text
from tests.advice.views.answers import ADVICE, GIB


def test_every_view_names_the_options() -> None:
    for view in (advice_text(ADVICE), advice_markdown(ADVICE), advice_notebook(ADVICE)):
        assert "offload model" in view and "20 steps" in view


def test_csv_has_the_request_first_and_exact_numbers() -> None:
    requested, quick, _ = csv.DictReader(io.StringIO(advice_csv(ADVICE)))
    assert tuple(requested) == COLUMNS
    assert (requested["option"], requested["device_bytes"]) == ("as requested", str(10 * GIB))
    assert (quick["option"], quick["total_seconds"], quick["results"]) == ("20 steps + batch 4", "16.0", "4")
