"""Every table of a profile for other programs: one CSV or Parquet file each, exact numbers, no units."""

from __future__ import annotations

import io
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.caches import CacheRow, CacheStep, cache_table, cache_timeline
from diffprof.breakdown.calls import CallRow, call_table
from diffprof.breakdown.components import ComponentRow, component_table
from diffprof.breakdown.kinds import KindRow, kind_table
from diffprof.breakdown.memory import MemoryMoment, MemoryRow, memory_moments, memory_table
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.breakdown.moves import MoveRow, move_table
from diffprof.breakdown.operations import OperationRow, operation_table
from diffprof.breakdown.sections import SectionRow, section_table
from diffprof.breakdown.steps import StepRow, StepSample, step_samples, step_table
from diffprof.breakdown.throughput import ThroughputRow, throughput_table
from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.record.measured import SystemPoint
from diffprof.record.profile import Profile
from diffprof.render.csv import column_types, flat, table_csv

WHOLE_TREE = 1_000
"""Deeper than any module."""


@dataclass(frozen=True)
class DataTable:
    """Rows of one kind."""

    types: Mapping[str, Any]
    """Of the columns, by their names."""
    rows: Sequence[Mapping[str, Any]]


def data_tables(profile: Profile) -> dict[str, DataTable]:
    """Every table by its name; those of what was measured are there where something was."""
    found: dict[str, tuple[type, Sequence[Any]]] = {
        "components": (ComponentRow, component_table(profile)),
        "kinds": (KindRow, kind_table(profile)),
        "modules": (ModuleRow, module_table(profile, WHOLE_TREE, fold=False)),
        "attention": (AttentionRow, attention_table(profile)),
        "calls": (CallRow, call_table(profile)),
        "operations": (OperationRow, operation_table(profile)),
    }
    if profile.measured is not None:
        timed = profile.measured.timed
        found |= {
            "sections": (SectionRow, section_table(timed)),
            "throughput": (ThroughputRow, throughput_table(profile)),
            "steps": (StepRow, step_table(profile)),
            "step_samples": (StepSample, step_samples(profile)),
            "memory_moments": (MemoryMoment, memory_moments(profile)),
            "memory_peaks": (MemoryRow, memory_table(profile)),
            "caches": (CacheRow, cache_table(profile)),
            "cache_steps": (CacheStep, cache_timeline(profile)),
            "moves": (MoveRow, move_table(timed)),
            "system": (SystemPoint, profile.measured.system),
        }
    return {name: DataTable(column_types(kind), [flat(row) for row in rows]) for name, (kind, rows) in found.items()}


def write_tables(profile: Profile, folder: Path, parquet: bool = False) -> list[Path]:
    """Write every table into the folder, which is made where it is not there."""
    write = _parquet if parquet else _csv
    made = {f"{name}.{'parquet' if parquet else 'csv'}": write(table) for name, table in data_tables(profile).items()}
    folder.mkdir(parents=True, exist_ok=True)
    return [replace_file(folder / name, data) for name, data in made.items()]


def _csv(table: DataTable) -> bytes:
    return table_csv(list(table.types), table.rows).encode("utf-8", "backslashreplace")


def _parquet(table: DataTable) -> bytes:
    pyarrow = parquet_library()
    from pyarrow import parquet

    columns = {
        name: pyarrow.array([_plain(row[name]) for row in table.rows], _arrow_type(pyarrow, kind))
        for name, kind in table.types.items()
    }
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def parquet_library() -> Any:
    """pyarrow, where it is installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise RequestError(
            "Parquet needs pyarrow; install it with `pip install 'diffprof[parquet]'`, or leave --parquet out for CSV."
        ) from error
    return pyarrow


def _arrow_type(pyarrow: Any, kind: Any) -> Any:
    """The type of a column; ``int | None`` is a column of whole numbers in which some are missing."""
    if get_origin(kind) is types.UnionType:
        (kind,) = [one for one in get_args(kind) if one is not types.NoneType]
    if get_origin(kind) is tuple:
        return pyarrow.list_(pyarrow.int64())
    known = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    return known[kind]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        # Parquet takes no half of a surrogate pair, which a name of a file may hold.
        return value.encode("utf-8", "backslashreplace").decode()
    return value
