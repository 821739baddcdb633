"""Numbers in text fields."""

from __future__ import annotations

import pytest

from diffprof.app.number_fields import parse_integer, parse_number
from diffprof.errors import RequestError


@pytest.mark.parametrize(("text", "expected"), [("", None), (None, None), (" 7 ", 7), (str(2**63 - 1), 2**63 - 1)])
def test_a_whole_number_is_taken_exactly(text: str | None, expected: int | None) -> None:
    assert parse_integer("Seed", text) == expected


@pytest.mark.parametrize("text", ["1.5", "seven", "1e3", "1_000", "٣"])
def test_anything_but_a_whole_number_in_ascii_digits_is_rejected(text: str) -> None:
    with pytest.raises(RequestError, match="Seed must be a whole number"):
        parse_integer("Seed", text)


@pytest.mark.parametrize(("text", "expected"), [("", None), (None, None), ("7.5", 7.5), ("-1e2", -100.0)])
def test_an_empty_field_requests_no_number(text: str | None, expected: float | None) -> None:
    assert parse_number("Guidance", text) == expected


@pytest.mark.parametrize("text", ["inf", "nan", "much", "٣.٥"])
def test_a_number_must_be_finite_and_in_ascii_digits(text: str) -> None:
    with pytest.raises(RequestError, match="Guidance must be a number"):
        parse_number("Guidance", text)
