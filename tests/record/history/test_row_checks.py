"""A row of a file from elsewhere is a run only where each column holds what it should."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.history import History
from diffprof.record.history.row_checks import is_timestamp
from tests.record.history.kept_runs import four_runs


def change(path: Path, column: str, value: Any, run: int = 2, table: str = "runs", as_text: bool = False) -> None:
    with sqlite3.connect(path) as connection:
        placed = "CAST(? AS TEXT)" if as_text else "?"
        key = "run" if table == "documents" else "id"
        connection.execute(f"UPDATE {table} SET {column} = {placed} WHERE {key} = ?", (value, run))
    connection.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("macs", "many"),
        ("macs", b"\x00"),
        ("macs", -1),
        ("steps", float("inf")),
        ("wall_seconds", "soon"),
        ("peak_memory_bytes", b"x"),
        ("created_at", "yesterday"),
        ("created_at", b"\xff"),
        ("model", b"\xff\xfe"),
        ("height", "tall"),
        ("device", b"\x00\x01"),
    ],
)
def test_a_damaged_row_is_named_and_hides_no_other(column: str, value: Any, tmp_path: Path) -> None:
    history = four_runs(tmp_path / "h.sqlite")
    change(history.path, column, value)
    found = history.search()
    assert [run.id for run in found.runs] == [4, 3, 1]
    assert found.damaged == (2,)
    assert [run.id for run in history.find()] == [4, 3, 1]
    with pytest.raises(FileFormatError, match=r"Run 2 .* is damaged; `diffprof history repair FILE`"):
        history.get_run(2)
    assert history.get(2).total.macs > 0
    for metric in ("macs", "wall_seconds", "peak_memory_bytes"):
        series = history.trend(metric).series
        assert all(isinstance(value, int | float) for one in series for value in one.values)
        assert (2 in [run for one in series for run in one.ids]) <= (column != metric)
    assert history.export(tmp_path / "out.csv") == 3
    assert history.export(tmp_path / "out.parquet") == 3


def test_a_text_that_is_no_utf_8_is_shown_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    history = four_runs(tmp_path / "h.sqlite")
    change(history.path, "model", b"sd\xff2", as_text=True)
    assert history.get_run(2).model == "sd\ufffd2"


@pytest.mark.parametrize("value", [7, "text", 1.5, b"x"])
def test_a_document_that_is_none_is_refused(value: Any, tmp_path: Path) -> None:
    history = four_runs(tmp_path / "h.sqlite")
    change(history.path, "profile", value, table="documents")
    with pytest.raises(FileFormatError, match="Run 2 of the history"):
        history.get(2)
    change(history.path, "picture", 7, run=3, table="documents")
    assert history.picture(3) is None
    assert History(history.path).get(1).total.macs > 0


@pytest.mark.parametrize(
    ("value", "is_one"),
    [("2026-01-31T12:00:00.000000Z", True), ("2026-01-31T12:00:00", False), ("", False), (None, False), (5, False)],
)
def test_a_moment_has_a_time_zone(value: Any, is_one: bool) -> None:
    assert is_timestamp(value) is is_one
