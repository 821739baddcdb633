"""Numbers as visitors type them; nothing typed means: not said."""

from __future__ import annotations

import math
import re

from diffprof.errors import RequestError


def whole(label: str, text: str | None) -> int | None:
    """A whole number, exactly: a browser's own number field would round a long seed."""
    words = (text or "").strip()
    if not words:
        return None
    if not re.fullmatch(r"[+-]?\d{1,30}", words):
        raise RequestError(f"{label} must be a whole number, not {words[:40]!r}.")
    return int(words)


def number(label: str, text: str | None) -> float | None:
    """A number that is not infinite."""
    words = (text or "").strip()
    if not words:
        return None
    try:
        found = float(words)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise RequestError(f"{label} must be a number, not {words[:40]!r}.")
    return found
