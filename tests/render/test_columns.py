"""Columns that fit, and those that are dropped when the terminal is narrow."""

from __future__ import annotations

from diffprof.render.columns import Column, fit_columns, minimum_width, print_table
from diffprof.render.console import render_text

COLUMNS = [
    Column("name", ["a long name", "b"], justify="left", least=6),
    Column("first", ["1", "2"], rank=1),
    Column("second\npart", ["10", "20"], rank=2),
    Column("third", ["100", "200"], rank=2),
]


def test_all_columns_fit_into_their_minimum_width() -> None:
    width = minimum_width(COLUMNS)
    assert width == 6 + 5 + 6 + 5 + 3 * 2
    assert fit_columns(COLUMNS, width).left_out == []


def test_columns_of_the_highest_rank_are_dropped_together() -> None:
    fitted = fit_columns(COLUMNS, minimum_width(COLUMNS) - 1)
    assert [column.heading for column in fitted.columns] == ["name", "first"]
    assert fitted.left_out == ["second part", "third"]


def test_columns_of_rank_0_are_never_dropped() -> None:
    assert [column.heading for column in fit_columns(COLUMNS, 1).columns] == ["name"]


def test_dropped_columns_are_named_below_the_table() -> None:
    text = render_text(lambda console: print_table(fit_columns(COLUMNS, 15), console), 80)
    assert text.splitlines()[-1] == "Columns that do not fit: second part, third (--csv has them all)"


def test_a_heading_that_is_broken_over_two_lines_has_one_name() -> None:
    assert Column("para-\nmeters", []).name == "parameters"
    assert Column("MACs\nper call", []).name == "MACs per call"


def test_the_last_row_is_set_apart_as_the_total() -> None:
    text = render_text(lambda console: print_table(fit_columns(COLUMNS, 60), console, total=True), 60)
    assert text.splitlines()[-2] == ""
    assert text.splitlines()[-1].startswith("b ")


def test_names_that_look_like_markup_stay_names() -> None:
    text = render_text(lambda console: print_table(fit_columns([Column("a", ["[red]x[/]"])], 60), console), 60)
    assert "[red]x[/]" in text
