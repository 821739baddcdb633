"""Predicted times as a page."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.prediction_page import prediction_html
from tests.advice.views.answers import PREDICTION, predicted_time


def test_the_page_leads_with_the_fastest() -> None:
    page = prediction_html(PREDICTION)
    assert "One generation takes about 2.0 s on h100-sxm (1.8 s to 2.4 s)." in page
    assert "<li>one</li><li>two</li>" in page


def test_names_are_text() -> None:
    assert "<script>x" not in prediction_html(replace(PREDICTION, model="<script>x"))


def test_the_tables_of_a_page_have_a_column_for_every_accelerator() -> None:
    many = {f"gpu-{number}": predicted_time(1.0 + number) for number in range(12)}
    page = prediction_html(replace(PREDICTION, accelerators=many))
    assert page.count(">gpu-0</th>") == page.count(">gpu-11</th>") == 2
    assert "more accelerator" not in page


def test_a_logarithmic_chart_is_explained() -> None:
    slow = prediction_html(replace(PREDICTION, accelerators={"gpu": predicted_time(1), "cpu": predicted_time(9000)}))
    assert "The axis is logarithmic." in slow
    assert "The axis is logarithmic." not in prediction_html(PREDICTION)
