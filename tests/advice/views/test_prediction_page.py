"""Predicted times as a page."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.prediction_page import prediction_html
from tests.advice.views.answers import PREDICTION


def test_the_page_leads_with_the_fastest() -> None:
    page = prediction_html(PREDICTION)
    assert "One generation takes about 2.0 s on h100-sxm (1.8 s to 2.4 s)." in page
    assert "<li>one</li><li>two</li>" in page


def test_names_are_text() -> None:
    assert "<script>x" not in prediction_html(replace(PREDICTION, model="<script>x"))
