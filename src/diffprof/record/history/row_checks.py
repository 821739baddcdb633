"""Check the rows of the table of runs: an untrusted file may have anything in any column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from diffprof.record.history.records import COLUMNS, KeptRun

WHOLE = (
    *("id", "steps", "requested_steps", "macs", "parameters", "height", "width", "frames", "iterations"),
    "peak_memory_bytes",
)
OPTIONAL = (
    "device",
    "device_kind",
    "dtype",
    "height",
    "width",
    "frames",
    "requested_steps",
    "iterations",
    "wall_seconds",
    "peak_memory_bytes",
)
LARGEST = 10**60
"""The largest number in a row."""


def kept_run(row: Sequence[Any]) -> KeptRun | None:
    """Return the run of a row of `rows.RUN_COLUMNS`; None if the row is damaged."""
    *columns, tags, picture = row
    values = dict(zip(COLUMNS, columns, strict=True))
    if not is_whole(values) or not (tags is None or isinstance(tags, str)):
        return None
    labels = tuple(sorted(tags.split("\n"))) if tags else ()
    return KeptRun(**values, tags=labels, picture=bool(picture))


def is_whole(values: Mapping[str, Any]) -> bool:
    """Whether each column has a valid value."""
    return all(_fits(name, value) for name, value in values.items()) and is_timestamp(values["created_at"])


def is_timestamp(value: Any) -> bool:
    """Whether it is a time as the history writes it."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is not None
    except ValueError:
        return False


def _fits(name: str, value: Any) -> bool:
    if value is None:
        return name in OPTIONAL
    if name in WHOLE or name == "wall_seconds":
        # Integers beyond SQLite's range are stored as floating-point numbers.
        return isinstance(value, int | float) and math.isfinite(value) and 0 <= value < LARGEST
    return isinstance(value, str)
