"""Bounds for the values of a model's configuration: anything beyond them is refused before a library uses it."""

from __future__ import annotations

import math
import re
from typing import Any

from diffprof.errors import RequestError

MAX_DEPTH = 64
"""The maximum nesting of objects and lists. The deepest published configuration has 6 levels."""
LONGEST_NAME = 200
"""The longest name of a component, a library or a class, because each becomes part of a path."""
LARGEST_NUMBER = 2**40
"""The largest number in a configuration; vocabularies, pixels and rotary bases are far smaller."""
MAX_REPETITIONS = 1_000_000
"""The largest count in a configuration, such as that of layers. Libraries create lists of this length; models have
hundreds."""
MAX_TIMESTEPS = 100_000
"""The most timesteps, of which a scheduler makes a table one by one. Published schedulers have 1,000."""
MAX_NEW_TOKENS = 2_000
"""The most tokens that a language model generates, one call for each. Published pipelines generate 8 to 512."""
MAX_ITEMS = 2_000_000
"""The most values in one file."""
LONGEST_TEXT = 2_000_000
TEXT_LENGTH_KEYS = ("model_max_length", "max_len", "max_length", "sequence_length")
NO_LENGTH = 10**15
"""Above this, a length means no limit: transformers writes ``int(1e30)``."""

_COUNTED = re.compile(
    r"(^|_)(num|n|layers?|blocks?|levels?|depths?|steps|ids|heads|experts|groups|stages|bins|bands)(_|$)"
)


def check_values(values: Any, where: object) -> None:
    """Raise a `RequestError` that names the first implausible value."""
    stack: list[tuple[str, Any, int]] = [("", values, 0)]
    seen = 0
    while stack:
        key, value, depth = stack.pop()
        seen += 1
        if depth > MAX_DEPTH:
            raise RequestError(f"{where} is nested more than {MAX_DEPTH} deep, which no configuration is; correct it")
        if seen > MAX_ITEMS:
            raise RequestError(f"{where} holds more than {MAX_ITEMS:,} values, which no configuration does; correct it")
        if isinstance(value, dict):
            for name, item in value.items():
                _check_text(name, where)
                stack.append((name, item, depth + 1))
        elif isinstance(value, list):
            stack.extend((key, item, depth + 1) for item in value)
        elif isinstance(value, str):
            _check_text(value, where)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            _check_number(key, value, where)


def check_name(name: str, where: object) -> None:
    """Refuse the name of a component, library or class that is too long for a file name."""
    if len(name) > LONGEST_NAME:
        raise RequestError(f"{where} names something with {len(name):,} characters, {name[:40]!r}...; correct it")


def _check_text(text: str, where: object) -> None:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise RequestError(f"{where} contains a lone surrogate; correct or replace the file")
    if "\0" in text and len(text) < LONGEST_NAME:
        raise RequestError(f"{where} contains a null character; correct or replace the file")


def _check_number(key: str, value: float, where: object) -> None:
    most = _limit_for(key, value)
    if isinstance(value, float) and not math.isfinite(value):
        return  # a library accepts or refuses it, but allocates nothing large
    if abs(value) > most:
        raise RequestError(
            f"{key[:60]} is {_value_text(value)} in {where}, and diffprof takes at most {most:,} for it; check the file"
        )


def _limit_for(key: str, value: float) -> int:
    if key in TEXT_LENGTH_KEYS:
        return LONGEST_TEXT if value < NO_LENGTH else 10**40
    if "timesteps" in key:
        return MAX_TIMESTEPS
    if key == "max_new_tokens":
        return MAX_NEW_TOKENS
    return MAX_REPETITIONS if isinstance(value, int) and _COUNTED.search(key) else LARGEST_NUMBER


def _value_text(value: float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if abs(value) < 10**15 else "a larger number"
