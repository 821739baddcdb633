"""Export the kept runs as a table for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.record.history.records import KeptRun
from diffprof.record.parquet_files import parquet_bytes, parquet_library

NAMES = tuple(field.name for field in fields(KeptRun))
_WHOLE = (
    "id",
    "height",
    "width",
    "frames",
    "steps",
    "requested_steps",
    "macs",
    "parameters",
    "iterations",
    "peak_memory_bytes",
)


def check_path(path: Path) -> Path:
    """Check that the suffix names a format that can be written, and return the path."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise RequestError(f"Cannot tell the format of {path} from its ending; use .csv or .parquet.")
    if ending == ".parquet":
        parquet_library()
    return path


def write(runs: Sequence[KeptRun], path: Path) -> None:
    """Write the runs to a file, one row for each."""
    replace_file(path, _parquet(runs) if path.suffix.lower() == ".parquet" else _csv(runs))


def _csv(runs: Iterable[KeptRun]) -> Iterator[bytes]:
    yield _line(NAMES)
    for run in runs:
        values = {**vars(run), "tags": "; ".join(run.tags), "picture": str(run.picture).lower()}
        yield _line(["" if values[name] is None else values[name] for name in NAMES])


def _line(cells: Sequence[Any]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()


def _parquet(runs: Sequence[KeptRun]) -> bytes:
    pyarrow = parquet_library()
    return parquet_bytes({name: _column(pyarrow, name, [getattr(run, name) for run in runs]) for name in NAMES})


def _column(pyarrow: Any, name: str, values: list[Any]) -> Any:
    if name == "created_at":
        from datetime import datetime

        moments = [datetime.fromisoformat(value.replace("Z", "+00:00")) for value in values]
        return pyarrow.array(moments, pyarrow.timestamp("us", "UTC"))
    if name == "tags":
        return pyarrow.array([list(tags) for tags in values], pyarrow.list_(pyarrow.string()))
    if name in _WHOLE and not any(isinstance(value, float) for value in values):
        return pyarrow.array(values, pyarrow.int64())
    if name in _WHOLE or name == "wall_seconds":
        return pyarrow.array(values, pyarrow.float64())
    return pyarrow.array(values, pyarrow.bool_() if name == "picture" else pyarrow.string())
