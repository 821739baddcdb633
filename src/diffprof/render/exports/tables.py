"""The tables of a profile for other programs: one CSV or Parquet file each, with exact numbers and no units."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.caches import CacheRow, CacheStep, cache_table, cache_timeline
from diffprof.breakdown.calls import CallRow, call_table
from diffprof.breakdown.components import ComponentRow, component_table
from diffprof.breakdown.devices import DeviceRow, device_table
from diffprof.breakdown.kinds import KindRow, kind_table
from diffprof.breakdown.memory_peaks import MemoryMoment, MemoryRow, memory_moments, memory_table
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.breakdown.moves import MoveRow, move_table
from diffprof.breakdown.operations import OperationRow, operation_table
from diffprof.breakdown.sections import SectionRow, section_table
from diffprof.breakdown.steps import StepRow, StepSample, step_samples, step_table
from diffprof.breakdown.throughput import ThroughputRow, throughput_table
from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.record.measured import Iteration, RankPart, SystemPoint
from diffprof.record.parquet_files import parquet_bytes, parquet_library
from diffprof.record.profile import Profile
from diffprof.record.tensors import OperationShapes, TensorInput
from diffprof.render.csv import table_csv
from diffprof.render.shapes import inputs_text, shapes_text
from diffprof.render.table_names import DEFAULT_DEPTH, ProfileTable, RunTable

WHOLE_TREE = 1_000
"""A depth that no module tree reaches."""


@dataclass(frozen=True)
class TableSource:
    """A table: the type of its rows, whose fields are the columns, and the function that makes them."""

    row_type: type
    rows: Callable[[Profile], Sequence[Any]]
    is_measured: bool = False
    """Whether only a measured run has this table."""


def _timed_iterations(profile: Profile) -> Sequence[Iteration]:
    return profile.measured.timed_iterations if profile.measured else ()


TABLES = {
    "components": TableSource(ComponentRow, component_table),
    "kinds": TableSource(KindRow, kind_table),
    "modules": TableSource(ModuleRow, lambda profile: module_table(profile, WHOLE_TREE, fold=False)),
    "attention": TableSource(AttentionRow, attention_table),
    "calls": TableSource(CallRow, call_table),
    "operations": TableSource(OperationRow, operation_table),
    "sections": TableSource(SectionRow, lambda profile: section_table(_timed_iterations(profile)), is_measured=True),
    "throughput": TableSource(ThroughputRow, throughput_table, is_measured=True),
    "steps": TableSource(StepRow, step_table, is_measured=True),
    "step_samples": TableSource(StepSample, step_samples, is_measured=True),
    "memory_moments": TableSource(MemoryMoment, memory_moments, is_measured=True),
    "memory_peaks": TableSource(MemoryRow, memory_table, is_measured=True),
    "caches": TableSource(CacheRow, cache_table, is_measured=True),
    "cache_steps": TableSource(CacheStep, cache_timeline, is_measured=True),
    "moves": TableSource(MoveRow, lambda profile: move_table(_timed_iterations(profile)), is_measured=True),
    "devices": TableSource(DeviceRow, device_table, is_measured=True),
    "ranks": TableSource(RankPart, lambda p: p.measured.ranks if p.measured else (), is_measured=True),
    "system": TableSource(SystemPoint, lambda p: p.measured.system if p.measured else (), is_measured=True),
}
"""Every table by the name of its file. A new table is one entry here."""

_PROFILE_TABLES = {
    ProfileTable.component: "components",
    ProfileTable.kind: "kinds",
    ProfileTable.attention: "attention",
    ProfileTable.call: "calls",
}
_RUN_TABLES = {
    RunTable.section: "sections",
    RunTable.component: "throughput",
    RunTable.step: "steps",
    RunTable.memory: "memory_moments",
    RunTable.peak: "memory_peaks",
    RunTable.cache: "caches",
    RunTable.move: "moves",
    RunTable.device: "devices",
    RunTable.rank: "ranks",
}


@dataclass(frozen=True)
class DataTable:
    """Rows of one kind."""

    types: Mapping[str, Any]
    """The type of each column by its name."""
    rows: Sequence[Mapping[str, Any]]


def data_tables(profile: Profile) -> dict[str, DataTable]:
    """Every table of the profile by its name; tables of measurements only if it was measured."""
    return {
        name: _data_table(source.row_type, source.rows(profile))
        for name, source in TABLES.items()
        if profile.measured is not None or not source.is_measured
    }


def profile_csv(profile: Profile, table: ProfileTable = ProfileTable.component, depth: int = DEFAULT_DEPTH) -> str:
    """A table of the counts as CSV."""
    if table is ProfileTable.module:
        # Not folded: programs can group equal modules themselves.
        return _csv_text(_data_table(ModuleRow, module_table(profile, depth, fold=False)))
    source = TABLES[_PROFILE_TABLES[table]]
    return _csv_text(_data_table(source.row_type, source.rows(profile)))


def run_csv(profile: Profile, table: RunTable = RunTable.section) -> str:
    """A table of the measured run as CSV."""
    source = TABLES[_RUN_TABLES[table]]
    return _csv_text(_data_table(source.row_type, source.rows(profile)))


def profile_dataframe(profile: Profile, by: str) -> Any:
    """A table as a pandas DataFrame; `by` is a value of ``--by``, or the name of a table's file."""
    try:
        import pandas
    except ImportError as error:
        raise RequestError("A DataFrame needs pandas; install it with `pip install 'diffprof[pandas]'`.") from error
    # A measured run has two tables by component: "component" means that of the counts, which every profile has.
    names = {table.value: name for table, name in _RUN_TABLES.items()}
    names |= {table.value: name for table, name in _PROFILE_TABLES.items()}
    tables = data_tables(profile)
    name = {**names, "module": "modules", "operation": "operations"}.get(by, by)
    if name not in tables:
        known = ", ".join([value for value, table in names.items() if table in tables] + ["module", "operation"])
        raise RequestError(f"This profile has no table by {by!r}; it has {known}.")
    return pandas.DataFrame(tables[name].rows, columns=list(tables[name].types))


def write_tables(profile: Profile, folder: Path, parquet: bool = False) -> list[Path]:
    """Write every table into the folder, which is created if it does not exist."""
    encode, ending = (_parquet, "parquet") if parquet else (_csv, "csv")
    contents = {f"{name}.{ending}": encode(table) for name, table in data_tables(profile).items()}
    folder.mkdir(parents=True, exist_ok=True)
    return [replace_file(folder / name, content) for name, content in contents.items()]


def _data_table(row_type: type, rows: Sequence[Any]) -> DataTable:
    return DataTable(_column_types(row_type), [_flatten(row) for row in rows])


_field_types: Callable[[Any], dict[str, Any]] = cache(get_type_hints)

_AS_TEXT: dict[Any, Callable[[Any], str]] = {
    tuple[TensorInput, ...]: inputs_text,
    OperationShapes: shapes_text,
    tuple[str, ...]: " ".join,
    Mapping[str, int]: lambda amounts: " ".join(f"{name}={amount}" for name, amount in amounts.items()),
}
"""How values of compound types are written into one cell, as text."""


def _column_types(row_type: type) -> dict[str, Any]:
    """The type of each column of such rows; the fields of a nested dataclass are columns, too."""
    types: dict[str, Any] = {}
    for name, kind in _field_types(row_type).items():
        if kind in _AS_TEXT:
            types[name] = str
        else:
            types |= _field_types(kind) if dataclasses.is_dataclass(kind) else {name: kind}
    return types


def _flatten(row: Any) -> dict[str, Any]:
    """The values of a row by column; the fields of a nested dataclass are columns, too."""
    values: dict[str, Any] = {}
    for name, kind in _field_types(type(row)).items():
        value = getattr(row, name)
        if kind in _AS_TEXT:
            values[name] = _AS_TEXT[kind](value)
        else:
            values |= vars(value) if dataclasses.is_dataclass(kind) else {name: value}
    return values


def _csv_text(table: DataTable) -> str:
    return table_csv(list(table.types), table.rows)


def _csv(table: DataTable) -> bytes:
    return _csv_text(table).encode("utf-8", "backslashreplace")


def _parquet(table: DataTable) -> bytes:
    pyarrow = parquet_library(INSTEAD_OF_PARQUET)
    return parquet_bytes(
        {name: _arrow_column(pyarrow, kind, [row[name] for row in table.rows]) for name, kind in table.types.items()}
    )


INSTEAD_OF_PARQUET = "leave --parquet out for CSV"


def _arrow_column(pyarrow: Any, kind: Any, values: list[Any]) -> Any:
    """An Arrow array of the given type; an optional type allows missing values."""
    if get_origin(kind) is types.UnionType:
        (kind,) = [one for one in get_args(kind) if one is not types.NoneType]
    if kind is not int and get_origin(kind) is not tuple:
        known = {bool: pyarrow.bool_(), float: pyarrow.float64(), str: pyarrow.string()}
        return pyarrow.array([_plain_value(value) for value in values], known[kind])
    is_list = kind is not int
    numbers = [number for value in values for number in ((value or ()) if is_list else (value,))]
    whole, convert = _whole_numbers(pyarrow, max((abs(number) for number in numbers if number is not None), default=0))
    if is_list:
        lists = [None if value is None else [convert(number) for number in value] for value in values]
        return pyarrow.array(lists, pyarrow.list_(whole))
    return pyarrow.array([None if value is None else convert(value) for value in values], whole)


def _whole_numbers(pyarrow: Any, largest: int) -> tuple[Any, Callable[[int], Any]]:
    """An Arrow type that holds integers up to `largest` exactly, and the conversion to it."""
    if largest < 2**63:
        return pyarrow.int64(), int
    if largest < 10**76:
        return pyarrow.decimal256(76, 0), Decimal
    return pyarrow.string(), str


def _plain_value(value: Any) -> Any:
    if isinstance(value, str):
        # A file name may contain a lone surrogate, which Parquet does not accept.
        return value.encode("utf-8", "backslashreplace").decode()
    return value
