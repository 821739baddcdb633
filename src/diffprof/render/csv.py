"""Any table of plain values as CSV: exact numbers, no units."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.render import numbers


def table_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV; the first line names the columns, even if there are no rows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return numbers.ranges(value)
    return "" if value is None else value
