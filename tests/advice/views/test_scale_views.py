"""The growth of a cost in words and as data."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from diffprof.advice.scale import StepsPoint
from diffprof.advice.views.scale_views import (
    formula,
    scale_chart,
    scale_csv,
    scale_data,
    scale_html,
    scale_json,
    scale_markdown,
    scale_text,
    sentences,
)
from tests.advice.views.answers import SCALING


def test_a_formula_is_written_with_the_smallest_powers_first() -> None:
    polynomial = {(("height", 2),): Fraction(1), (): Fraction(12345), (("width", 1),): Fraction(3, 2)}
    assert formula(polynomial) == "12,345 + 3/2 * width + height^2"
    assert formula({}) == "0"


def test_the_law_is_in_the_numbers_of_the_request() -> None:
    assert "  transformer = 3 + 2 * height * width" in scale_text(SCALING)


def test_a_table_is_relative_to_the_square_next_to_the_request() -> None:
    text = scale_text(SCALING)
    assert "relative to 512 x 512, 1 frame, 10 steps" in text
    lines = [line.split() for line in text.splitlines()]
    (small,) = [line for line in lines if line[:3] == ["512", "x", "512"]]
    (large,) = [line for line in lines if line[:3] == ["1024", "x", "1024"]]
    assert "1.00x" in small and "8.00x" in large


def test_growth_is_said_in_words() -> None:
    assert list(sentences(SCALING)) == [
        "Twice the height and width (4x the pixels) takes 8.00x the compute, not 16x.",
        "Twice the steps takes 2.00x the compute.",
        "From 1024 x 1024 on, attention (QKᵀ and AV) is more than half of the MACs.",
        "Near 1024 x 1024, compute grows as the side to the power of 3.00.",
    ]


def test_steps_have_a_table_of_their_own() -> None:
    scaling = replace(SCALING, steps=(StepsPoint(5, 500), StepsPoint(10, 1_000)))
    assert ["5", "500", "MACs", "0.500x"] in [line.split() for line in scale_text(scaling).splitlines()]
    assert "| steps | MACs | relative |" in scale_markdown(scaling)
    assert scale_data(scaling)["steps"] == [{"steps": 5, "macs": 500}, {"steps": 10, "macs": 1_000}]
    assert "<table>" in scaling._repr_html_() and str(scaling) == scale_text(scaling)
    assert repr(scaling) == "<Scaling of dit: 2 sizes, 2 numbers of steps>"


def test_without_a_law_the_reason_stands_where_the_formula_would() -> None:
    counted = replace(SCALING, counted_because="no law of dit was proved")
    assert "No law of dit was proved: these sizes were counted one by one." in scale_text(counted)
    assert "Counted with torch 2.8.0." in scale_text(counted)


def test_data_has_the_exact_numbers() -> None:
    assert json.loads(scale_json(SCALING)) == scale_data(SCALING)
    assert scale_data(SCALING)["curve"][1]["attention_share"] == 0.75
    assert scale_csv(SCALING).splitlines()[1].startswith("512,512,1000,100,250,")


def test_the_chart_and_the_page_show_the_curve() -> None:
    assert [list(trace.y) for trace in scale_chart(SCALING).data] == [[250, 6_000], [1_000, 8_000]]
    page = scale_html(SCALING)
    assert "256 to 2,048 in steps of 8" in page
    assert '<th scope="col">size</th><th scope="col" class="right">MACs</th>' in page
