"""Moments and ages as users type them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from diffprof.cli.parsing.dates import parse_moment
from diffprof.errors import RequestError


@pytest.mark.parametrize(
    ("typed", "moment"),
    [
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=timezone.utc)),
        ("2026-01-31T12:30", datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)),
        ("2026-01-31T12:30:05Z", datetime(2026, 1, 31, 12, 30, 5, tzinfo=timezone.utc)),
        ("2026-01-31 12:30-05:00", datetime(2026, 1, 31, 17, 30, tzinfo=timezone.utc)),
        ("2h", datetime(2026, 5, 31, 10, tzinfo=timezone.utc)),
        ("1D", datetime(2026, 5, 30, 12, tzinfo=timezone.utc)),
        ("2w", datetime(2026, 5, 17, 12, tzinfo=timezone.utc)),
    ],
)
def test_moments_as_people_type_them(typed: str, moment: datetime) -> None:
    assert parse_moment("--since", typed, datetime(2026, 5, 31, 12, tzinfo=timezone.utc)) == moment


@pytest.mark.parametrize("typed", ["", "yesterday", "2026-02-30", "7", "d", "-3d", "999999w", "0001-01-01T00:00+09:00"])
def test_anything_else_is_rejected(typed: str) -> None:
    with pytest.raises(RequestError, match="--since takes"):
        parse_moment("--since", typed, datetime(2026, 5, 31, 12, tzinfo=timezone.utc))
