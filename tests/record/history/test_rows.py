"""The statements that read and change the tables of a history."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from diffprof.record.history import rows, schema
from diffprof.record.history.filters import Filters, Query
from diffprof.record.history.records import PruneResult
from diffprof.record.history.summary import summary
from tests.sample_profiles import stable_diffusion

ALL = Query("SELECT id FROM runs")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        schema.migrate(connection, schema.MIGRATIONS)
        yield connection


def values(day: int, **changes: Any) -> dict[str, Any]:
    """The columns of a run that was kept on a day of January."""
    return {**summary(stable_diffusion()), "created_at": f"2026-01-{day:02}T00:00:00Z", "kind": "run", **changes}


def test_runs_are_numbered_and_read_back_with_their_tags_in_order(connection: sqlite3.Connection) -> None:
    assert rows.insert(connection, values(1), b"profile") == 1
    assert rows.insert(connection, values(2), b"profile", ["b", "a"], b"PNG") == 2
    run = rows.load_run(connection, 2)
    assert run is not None
    assert (run.id, run.created_at, run.tags, run.picture) == (2, "2026-01-02T00:00:00Z", ("a", "b"), True)
    assert (run.model, run.height, run.steps) == ("sd-2.1-base", 512, 31)
    assert [run.id for run in rows.find(connection, ALL).runs] == [1, 2]
    assert rows.load_run(connection, 3) is None
    assert (rows.exists(connection, 2), rows.exists(connection, 3)) == (True, False)


def test_a_tag_is_added_once_and_removed(connection: sqlite3.Connection) -> None:
    run = rows.insert(connection, values(1), b"profile")
    rows.add_tags(connection, run, ["x", "x", "y"])
    assert rows.find(connection, ALL).runs[0].tags == ("x", "y")
    rows.remove_tags(connection, run, ["x", "never there"])
    assert rows.find(connection, ALL).runs[0].tags == ("y",)


def test_a_trend_has_the_points_of_each_request_on_each_device_in_order_of_time(connection: sqlite3.Connection) -> None:
    for day, device, seconds in ((1, "cpu", 3.0), (3, "cpu", 2.0), (2, "cpu", 2.5), (4, "gpu", 0.5), (5, "gpu", None)):
        rows.insert(connection, values(day, device=device, wall_seconds=seconds), b"profile")
    trend = rows.trend(connection, "wall_seconds", Filters(), None)
    assert [(one.newest.device, one.ids, one.values) for one in trend.series] == [
        ("gpu", (4,), (0.5,)),
        ("cpu", (1, 3, 2), (3.0, 2.5, 2.0)),
    ]
    limited = rows.trend(connection, "wall_seconds", Filters(), 1)
    assert (len(limited.series), limited.total) == (1, 2)


def test_removing_a_run_removes_its_profile_image_and_tags(connection: sqlite3.Connection) -> None:
    rows.insert(connection, values(1), b"12345", ["x"], b"PNG")
    rows.insert(connection, values(2), b"12345")
    first = Query("SELECT id FROM runs WHERE id = ?", (1,))
    assert rows.measure(connection, first) == PruneResult(1, 5 + 3, 1)
    assert rows.count_runs(connection, Query("SELECT count(*) FROM runs")) == 2
    assert rows.remove(connection, first) == PruneResult(1, 5 + 3, 1)
    left = [
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("runs", "documents", "tags")
    ]
    assert left == [1, 1, 0]
