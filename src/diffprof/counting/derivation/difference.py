"""Describe where two profiles differ."""

from __future__ import annotations

from typing import Any

from diffprof.record.document import encode_profile
from diffprof.record.profile import Profile

MAX_PLACES = 3
MAX_CHARACTERS = 80


def difference(one: Profile, other: Profile) -> str:
    """Return the first places where two profiles differ."""
    return ", ".join(_places(encode_profile(one), encode_profile(other), "")[:MAX_PLACES])


def _places(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        found = [place for key in one for place in _places(one[key], other[key], f"{path}.{key}")]
        return found[:MAX_PLACES]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        different = [place for place in range(len(one)) if one[place] != other[place]][:MAX_PLACES]
        return [found for place in different for found in _places(one[place], other[place], f"{path}.{place}")]
    if one == other:
        return []
    return [f"{path.lstrip('.')} is {str(one)[:MAX_CHARACTERS]} instead of {str(other)[:MAX_CHARACTERS]}"]
