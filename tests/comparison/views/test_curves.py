"""Curves over size and steps as charts."""

from __future__ import annotations

from diffprof.comparison.curves import Curve
from diffprof.comparison.views.curves import curves_chart


def test_a_curve_goes_through_what_was_counted() -> None:
    figure = curves_chart([Curve("one", [1, 2], [10, 20]), Curve("none", [], [])], "denoising steps")
    assert figure is not None
    (line,) = figure.data
    assert (list(line.x), list(line.y)) == ([1, 2], [10, 20])
    assert curves_chart([Curve("none", [], [])], "denoising steps") is None
