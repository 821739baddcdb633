"""Parse amounts of memory."""

from __future__ import annotations

import re

from diffprof.errors import RequestError

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
LEAST_BYTES = 2**20
"""A smaller number without a unit was certainly not meant in bytes."""
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_memory(name: str, text: str | int | None) -> int | None:
    """Parse bytes: ``24GB`` and ``24GiB`` are both 24 x 1024³, as memory is sold; a plain number is bytes."""
    if text is None:
        return None
    if isinstance(text, int) and not isinstance(text, bool):
        size = text
    else:
        match = _SIZE.fullmatch(str(text))
        if match is None:
            raise RequestError(f"{name} must be an amount of memory such as 24GB, not {text!r}.")
        size = round(float(match[1]) * 1024 ** _POWERS[match[2].lower()])
        if 0 < size < LEAST_BYTES and str(text).strip().isdecimal():
            raise RequestError(f"{name} must be an amount of memory with its unit, such as {size}GB, not {text!r}.")
    if not 0 < size <= 1024**6:
        raise RequestError(f"{name} must be above 0 and below an exbibyte, not {text!r}.")
    return size


def memory_option(name: str, size: int | None) -> list[str]:
    """The option for an amount of memory, as a user would write it: ``--memory 24GB``."""
    if size is None:
        return []
    unit = next((unit for unit in "TGM" if size % 1024 ** _POWERS[unit.lower()] == 0), None)
    return [name, f"{size // 1024 ** _POWERS[unit.lower()]}{unit}B" if unit else str(size)]
