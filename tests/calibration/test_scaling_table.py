"""The table of docs/scaling.md is what the laws of the package say."""

from __future__ import annotations

from calibration.scaling_table import BEGIN, END, PAGE, growth_table


def test_the_table_of_the_guide_is_made_of_the_laws() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert table == growth_table(), "write it again with `python -m calibration.scaling_table`"
