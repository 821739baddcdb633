"""Parse dates, times and ages: ``2026-01-31``, ``7d``."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from diffprof.errors import RequestError

FORMS = "2026-01-31, 2026-01-31T12:00 (UTC unless a zone is given) or an age: 12h, 7d, 4w"
_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_moment(option: str, text: str, now: datetime, end_of_day: bool = False) -> datetime:
    """Parse a date, a time or an age. A date means the start of that day, or its end with `end_of_day`."""
    age = _AGE.fullmatch(text.strip().lower())
    try:
        if age:
            return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()):
            day = datetime.combine(date.fromisoformat(text.strip()), datetime.min.time(), timezone.utc)
            return day + timedelta(days=1) if end_of_day else day
        moment = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise RequestError(f"{option} takes {FORMS}, not {text!r}.") from None
