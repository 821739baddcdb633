"""Printing to a console, and the same as plain text."""

from __future__ import annotations

from diffprof.render.console import print_labelled, print_lines, render_text


def test_a_long_line_wraps_beside_its_label() -> None:
    text = render_text(lambda console: print_labelled(console, "Note", "word " * 20), 50)
    first, *more = text.splitlines()
    assert first.startswith("Note     word")
    assert more
    assert all(line.startswith("         word") for line in more)


def test_a_narrow_console_has_the_label_in_the_line() -> None:
    assert render_text(lambda console: print_labelled(console, "Note", "x"), 30) == "Note: x\n"


def test_a_label_is_not_repeated_and_an_empty_line_ends_the_lines() -> None:
    lines = [("Note", "one"), ("Note", "two"), ("", "three"), ("Load", "four")]
    assert render_text(lambda console: print_lines(lines, console), 80) == (
        "Note     one\n         two\n         three\nLoad     four\n\n"
    )
    assert render_text(lambda console: print_lines([], console), 80) == ""


def test_text_has_only_characters_of_its_encoding() -> None:
    def show(console: object) -> None:
        console.print("QKᵀ · cut…")  # type: ignore[attr-defined]

    assert render_text(show, 80, "ascii") == "QKT - cut~\n"
    assert render_text(show, 80) == "QKᵀ · cut…\n"
