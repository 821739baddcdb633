"""Write a sweep to a file: a table for other programs, or an HTML page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.record.parquet_files import parquet_bytes, parquet_library
from diffprof.render.csv import table_csv
from diffprof.sweeps.records import COLUMNS, Row, SweepResult
from diffprof.sweeps.views.tables import sweep_markdown, sweep_text

ENDINGS = (".csv", ".json", ".parquet", ".md", ".html", ".txt")


def check_ending(path: Path) -> None:
    """Refuse a file with an unknown or unsupported format before anything is computed."""
    if path.suffix.lower() not in ENDINGS:
        raise RequestError(f"Cannot tell the format of {path}; use one of {', '.join(ENDINGS)}.")
    if path.suffix.lower() == ".parquet":
        parquet_library()


def write_file(result: SweepResult, path: Path) -> Path:
    """Write the table in the format that the ending names; an existing file is replaced atomically."""
    check_ending(path)
    ending = path.suffix.lower()
    if ending == ".parquet":
        return replace_file(path, sweep_parquet(result))
    texts = {
        ".csv": sweep_csv,
        ".json": sweep_json,
        ".md": sweep_markdown,
        ".html": sweep_page,
        ".txt": sweep_text,
    }
    return replace_file(path, texts[ending](result).encode())


def sweep_page(result: SweepResult) -> str:
    """The HTML page of a sweep."""
    from diffprof.sweeps.views.page import sweep_html

    return sweep_html(result)


def sweep_csv(result: SweepResult) -> str:
    """The points as CSV: exact numbers, with units in the column names."""
    return table_csv(COLUMNS, [_values(row) for row in result.rows])


def sweep_json(result: SweepResult) -> str:
    """The points and the failures as JSON."""
    failures = [{"request": failure.task.to_json(), "error": failure.error} for failure in result.failures]
    values = {"points": [_values(row) for row in result.rows], "failures": failures}
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def sweep_parquet(result: SweepResult) -> bytes:
    """The points as Parquet with typed columns; MACs beyond 64 bits are floating-point numbers."""
    pyarrow = parquet_library()
    types = {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_(), str: pyarrow.string()}
    columns = {}
    for name, kind in _kinds().items():
        values = [getattr(row, name) for row in result.rows]
        is_large = kind is int and any(value is not None and value >= 2**63 for value in values)
        columns[name] = pyarrow.array(
            [float(value) if value is not None else None for value in values] if is_large else values,
            types[float if is_large else kind],
        )
    return parquet_bytes(columns)


def data_frame(result: SweepResult) -> Any:
    """The points as a pandas DataFrame."""
    try:
        import pandas
    except ImportError as error:
        raise RequestError("A DataFrame needs pandas; install it with `pip install 'diffprof[pandas]'`.") from error
    return pandas.DataFrame([_values(row) for row in result.rows], columns=list(COLUMNS))


def _values(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS}


def _kinds() -> dict[str, type]:
    """The type of each column, without None."""
    hints = get_type_hints(Row)
    return {name: _plain_type(hints[name]) for name in COLUMNS}


def _plain_type(hint: Any) -> type:
    kinds: Sequence[type] = [kind for kind in getattr(hint, "__args__", (hint,)) if kind is not type(None)]
    return kinds[0]
