"""Parse numbers in text fields; an empty field means no number."""

from __future__ import annotations

import math
import re

from diffprof.errors import RequestError


def parse_integer(label: str, text: str | None) -> int | None:
    """Parse a whole number exactly; a browser's number field would round a long seed."""
    digits = (text or "").strip()
    if not digits:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", digits):
        raise RequestError(f"{label} must be a whole number, not {digits[:40]!r}.")
    return int(digits)


def parse_number(label: str, text: str | None) -> float | None:
    """Parse a finite number."""
    digits = (text or "").strip()
    if not digits:
        return None
    try:
        number = float(digits) if digits.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RequestError(f"{label} must be a number, not {digits[:40]!r}.")
    return number
