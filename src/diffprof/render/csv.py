"""The tables of a profile as CSV: every column, exact numbers, no units."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.caches import CacheRow, cache_table
from diffprof.breakdown.calls import CallRow, call_table
from diffprof.breakdown.components import ComponentRow, component_table
from diffprof.breakdown.kinds import KindRow, kind_table
from diffprof.breakdown.memory import MemoryMoment, MemoryRow, memory_moments, memory_table
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.breakdown.moves import MoveRow, move_table
from diffprof.breakdown.sections import SectionRow, section_table
from diffprof.breakdown.steps import StepRow, step_table
from diffprof.breakdown.throughput import ThroughputRow, throughput_table
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.profile_tables import DEFAULT_DEPTH, ProfileTable
from diffprof.render.run_tables import RunTable


def csv_text(profile: Profile, by: ProfileTable = ProfileTable.component, depth: int = DEFAULT_DEPTH) -> str:
    """The table as CSV: the first line names the figures, also when there are no rows."""
    if by is ProfileTable.module:
        # A program can fold for itself: each module has a row of its own.
        return _csv(ModuleRow, module_table(profile, depth, fold=False))
    rows: dict[ProfileTable, tuple[type, Sequence[Any]]] = {
        ProfileTable.component: (ComponentRow, component_table(profile)),
        ProfileTable.kind: (KindRow, kind_table(profile)),
        ProfileTable.attention: (AttentionRow, attention_table(profile)),
        ProfileTable.call: (CallRow, call_table(profile)),
    }
    return _csv(*rows[by])


def run_csv(profile: Profile, by: RunTable = RunTable.section) -> str:
    """A table of what was measured as CSV."""
    timed = profile.measured.timed if profile.measured else ()
    rows: dict[RunTable, tuple[type, Sequence[Any]]] = {
        RunTable.section: (SectionRow, section_table(timed)),
        RunTable.component: (ThroughputRow, throughput_table(profile)),
        RunTable.step: (StepRow, step_table(profile)),
        RunTable.memory: (MemoryMoment, memory_moments(profile)),
        RunTable.peak: (MemoryRow, memory_table(profile)),
        RunTable.cache: (CacheRow, cache_table(profile)),
        RunTable.move: (MoveRow, move_table(timed)),
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
    return table_csv(list(column_types(row_type)), [flat(row) for row in rows])


def column_types(row_type: type) -> dict[str, Any]:
    """The columns of such rows with their types; those of a record in a row stand beside its own."""
    types: dict[str, Any] = {}
    for name, kind in get_type_hints(row_type).items():
        types |= get_type_hints(kind) if dataclasses.is_dataclass(kind) else {name: kind}
    return types


def flat(row: Any) -> dict[str, Any]:
    """The row's figures; those of a record in it stand beside its own."""
    values: dict[str, Any] = {}
    for name, value in vars(row).items():
        values |= vars(value) if dataclasses.is_dataclass(value) else {name: value}
    return values


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return numbers.ranges(value)
    return "" if value is None else value
