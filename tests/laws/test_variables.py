"""Numbers of a request as laws see them."""

from __future__ import annotations

import pytest

from diffprof.laws.variables import Variable, values_of


@pytest.mark.parametrize(
    ("variable", "name", "value"),
    [
        (Variable("height"), "height", 100),
        (Variable("height", 16), "floor(height/16)", 6),
        (Variable("height", 16, is_rounded_up=True), "ceil(height/16)", 7),
        (Variable("num_frames", 4, -1), "floor(num_frames-1/4)", 20),
        (Variable("num_frames", offset=3), "num_frames+3", 84),
    ],
)
def test_a_number_is_moved_divided_and_rounded(variable: Variable, name: str, value: int) -> None:
    assert (variable.name, variable.value({"height": 100, "num_frames": 81})) == (name, value)


def test_values_are_found_by_name() -> None:
    sides = (Variable("height", 8), Variable("width", 8))
    assert values_of(sides, {"height": 64, "width": 72}) == {"floor(height/8)": 8, "floor(width/8)": 9}
