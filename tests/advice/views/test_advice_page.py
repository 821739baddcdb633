"""Advice as a page."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.advice_page import advice_html, front_chart
from tests.advice.views.answers import ADVICE, QUICK


def test_the_chart_has_a_point_for_each_option_by_its_risk_and_one_for_the_request() -> None:
    chart = front_chart(ADVICE)
    assert {trace.name: (list(trace.x), list(trace.y)) for trace in chart.data} == {
        "risk none": ([10.0], [12.0]), "risk medium": ([6.0], [4.0]), "as requested": ([10.0], [8.0]),
    }  # fmt: skip
    (line,) = chart.layout.shapes
    assert line.x0 == 22.0


def test_names_are_text() -> None:
    page = advice_html(replace(ADVICE, options=(replace(QUICK, changes=("<script>x",)),)))
    assert "<script>x" not in page and "&lt;script&gt;x" in page


def test_every_option_has_its_code() -> None:
    page = advice_html(ADVICE)
    assert "<code>result = pipe()</code>" in page and "diffprof predict sdxl" in page
