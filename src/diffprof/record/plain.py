"""Values as JSON holds them exactly: plain ones, and long lists of equal records as compact tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diffprof.errors import FileFormatError


def plain(value: Any, where: str) -> Any:
    """The value as JSON holds it; a value that JSON cannot hold exactly is refused."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{number}]") for number, item in enumerate(value)]
    raise FileFormatError(f"The profile cannot be saved: {where} is not a plain value ({type(value).__name__}).")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The names of the columns once, then the rows: a third of the size of a list of objects."""
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def table_of(columns: Sequence[str], records: Iterable[Any]) -> dict[str, Any]:
    """A table of records that have an attribute for each column."""
    return table(columns, ([getattr(record, name) for name in columns] for record in records))
