"""Predicted memory on the console, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io

from diffprof.advice.views.fit_views import COLUMNS, fit_csv, fit_markdown, fit_notebook, fit_text
from tests.advice.views.answers import FIT, GIB


def test_every_view_says_whether_it_fits_and_what_would() -> None:
    for view in (fit_text(FIT), fit_markdown(FIT), fit_notebook(FIT)):
        assert "does not fit on t4" in view and "offload model" in view


def test_csv_has_a_row_for_each_stage() -> None:
    load, decode = csv.DictReader(io.StringIO(fit_csv(FIT)))
    assert tuple(load) == COLUMNS
    assert (load["stage"], load["weight_bytes"]) == ("load", str(5 * GIB))
    assert (decode["component"], decode["activation_bytes"]) == ("vae", str(2 * GIB))
