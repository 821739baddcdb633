"""Moments and ages as users type them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from diffprof.errors import RequestError

FORMS = "2026-01-31, 2026-01-31T12:00 (UTC unless a zone is given) or an age: 12h, 7d, 4w"
_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_moment(option: str, text: str, now: datetime, end_of_day: bool = False) -> datetime:
    """The moment that was typed. A day is its beginning, or its end."""
    found = _AGE.fullmatch(text.strip().lower())
    try:
        if found:
            return now - _age(found)
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
            day = datetime.combine(date.fromisoformat(text.strip()), datetime.min.time(), timezone.utc)
            return day + timedelta(days=1) if end_of_day else day
        typed = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
        return (typed if typed.tzinfo else typed.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise RequestError(f"{option} takes {FORMS}, not {text!r}.") from None


def _age(found: re.Match[str]) -> timedelta:
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
