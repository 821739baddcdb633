"""The tables of a profile as CSV: every column, exact numbers, no units."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.analyse.attention import AttentionRow, attention_table
from diffprof.analyse.calls import CallRow, call_table
from diffprof.analyse.components import ComponentRow, component_table
from diffprof.analyse.kinds import KindRow, kind_table
from diffprof.analyse.modules import ModuleRow, module_table
from diffprof.profiles.record import Profile
from diffprof.render import numbers
from diffprof.render.views import DEFAULT_DEPTH, By


def csv_text(profile: Profile, by: By = By.component, depth: int = DEFAULT_DEPTH) -> str:
    """The table as CSV: the first line names the figures, also when there are no rows."""
    if by is By.module:
        # A program can fold for itself: each module has a row of its own.
        return _csv(ModuleRow, module_table(profile, depth, fold=False))
    rows: dict[By, tuple[type, Sequence[Any]]] = {
        By.component: (ComponentRow, component_table(profile)),
        By.kind: (KindRow, kind_table(profile)),
        By.attention: (AttentionRow, attention_table(profile)),
        By.call: (CallRow, call_table(profile)),
    }
    return _csv(*rows[by])


def table_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Any table of plain values as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    return out.getvalue()


def _csv(row_type: type, rows: Sequence[Any]) -> str:
    columns = [field.name for field in dataclasses.fields(row_type)]
    return table_csv(columns, [vars(row) for row in rows])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return numbers.ranges(value)
    return "" if value is None else value
