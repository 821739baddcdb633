"""Read the values of settings: from the environment, from TOML, or from a program.

Each reader takes the value and the folder that relative paths start from. The message of its error completes the
sentence "... must be".
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.settings.limits import DTYPES, LIMITS, dtype_name

Read = Callable[[Any, Path], Any]

NOTHING = ("none", "null")
"""Words for "not set", which override a value from a place with lower precedence."""

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
LONGEST_NAME, LONGEST_PATH = 255, 4_000
"""Bytes of one name, and characters of all: Python asks the system about a longer one and fails."""
_AMOUNT = re.compile(r"(\d{1,20}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d{1,5})\s*[x×*]\s*(\d{1,5})", re.IGNORECASE)


def flag(value: Any, base: Path) -> bool:
    """Read a flag."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in (*_YES, *_NO):
        raise ValueError("1 or 0")
    return word in _YES


def text(value: Any, base: Path) -> str | None:
    """Read a string."""
    if _is_nothing(value):
        return None
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value.strip()


def within_limits(name: str) -> Read:
    """A reader for a number within its limits, or nothing."""
    limit = LIMITS[name]

    def read(value: Any, base: Path) -> Any:
        if _is_nothing(value):
            return None
        try:
            # "20" from the environment, 20 from a file.
            return limit.parse(value) if isinstance(value, str) else limit.check(value)
        except RequestError:
            raise ValueError(limit.description) from None

    return read


def amount(value: Any, base: Path) -> int | None:
    """Read bytes: ``8GB`` (powers of 1000), ``8GiB`` (of 1024), or a plain number."""
    if _is_nothing(value):
        return None
    found = _AMOUNT.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    found_bytes = int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]) if found else 0
    if not found_bytes:
        raise ValueError("an amount of memory such as 8GB, 512MiB or a number of bytes")
    return found_bytes


def folder(value: Any, base: Path) -> Path:
    """Read a path; relative ones start from `base`, and a leading ``~`` is the user's home."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise ValueError("a path")
    try:
        path = base / Path(value).expanduser()
    except RecursionError:
        raise  # a RuntimeError that is not about the home folder
    except RuntimeError:
        raise ValueError("a path below a home folder that exists") from None
    if len(str(path)) > LONGEST_PATH or any(len(part.encode("utf-8", "replace")) > LONGEST_NAME for part in path.parts):
        raise ValueError("a path that is short enough for a file system")
    return path


def folders(value: Any, base: Path) -> tuple[Path, ...]:
    """Read paths: a list, or a string with the system's path separator."""
    parts: Sequence[Any] = (
        [part for part in value.split(os.pathsep) if part.strip()] if isinstance(value, str) else value
    )
    if not isinstance(parts, list | tuple):
        raise ValueError("a list of paths")
    return tuple(folder(part, base) for part in parts)


def choice(names: Sequence[str]) -> Read:
    """A reader for one of the names, or nothing."""

    def read(value: Any, base: Path) -> str | None:
        if _is_nothing(value):
            return None
        if str(value).lower() not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return str(value).lower()

    return read


def dtype(value: Any, base: Path) -> str | None:
    """Read a dtype, or nothing."""
    if _is_nothing(value):
        return None
    try:
        return dtype_name(str(value))
    except RequestError:
        raise ValueError(f"one of {', '.join(dict.fromkeys(DTYPES.values()))}") from None


def sizes(given: Mapping[str, tuple[int, int]]) -> Read:
    """A reader for more sizes: a table ``name = [512, 768]``, or a string ``name=512x768,...``."""

    def read(value: Any, base: Path) -> dict[str, tuple[int, int]]:
        table = value
        if isinstance(value, str):
            table = dict(part.partition("=")[::2] for part in value.split(",") if part.strip())
        if not isinstance(table, Mapping):
            raise ValueError("a table of sizes such as poster = [1024, 1536]")
        return {**given, **{str(name).strip(): size(pair) for name, pair in table.items()}}

    return read


def size(value: Any) -> tuple[int, int]:
    """Read width and height: ``"512x768"`` or a pair."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    pair = tuple(map(int, found.groups())) if found else value
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(type(side) is int and side > 0 for side in pair):
        raise ValueError("sizes such as 512x768: width and height in pixels")
    return pair[0], pair[1]


def suggest(name: str, known: Iterable[str]) -> str:
    """``did you mean this?``, or a list of all names."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=2)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}."


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in NOTHING)
