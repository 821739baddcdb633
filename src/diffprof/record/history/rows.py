"""Statements that read and change the tables; each runs on a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffprof.record.history import filters as queries
from diffprof.record.history.filters import Filters, Query
from diffprof.record.history.records import COLUMNS, FoundRuns, KeptRun, PruneResult, Series, Trend
from diffprof.record.history.row_checks import kept_run

# One row for each run, with its tags in one string, because there are few of them.
RUN_COLUMNS = (
    f"{', '.join(COLUMNS)}, (SELECT group_concat(tag, char(10)) FROM tags WHERE run = id), "
    "EXISTS (SELECT 1 FROM documents WHERE run = id AND picture IS NOT NULL)"
)


def insert(
    connection: sqlite3.Connection,
    values: Mapping[str, Any],
    profile: bytes,
    tags: Sequence[str] = (),
    picture: bytes | None = None,
) -> int:
    """Insert a run and return its number."""
    marks = ", ".join("?" * len(values))
    added = connection.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
    run = added.lastrowid
    assert run is not None
    connection.execute("INSERT INTO documents (run, profile, picture) VALUES (?, ?, ?)", (run, profile, picture))
    add_tags(connection, run, tags)
    return run


def exists(connection: sqlite3.Connection, run: int) -> bool:
    return next(select(connection, Query("SELECT 1 FROM runs WHERE id = ?", (run,))), None) is not None


def add_tags(connection: sqlite3.Connection, run: int, tags: Sequence[str]) -> None:
    connection.executemany("INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)", [(run, tag) for tag in tags])


def remove_tags(connection: sqlite3.Connection, run: int, tags: Sequence[str]) -> None:
    connection.executemany("DELETE FROM tags WHERE run = ? AND tag = ?", [(run, tag) for tag in tags])


def select(connection: sqlite3.Connection, query: Query) -> Iterator[tuple[Any, ...]]:
    return connection.execute(query.sql, query.values)


def count_runs(connection: sqlite3.Connection, query: Query) -> int:
    return int(next(select(connection, query))[0])


def find(connection: sqlite3.Connection, selection: Query) -> FoundRuns:
    """Return the selected runs. Each is read separately, because sorting whole rows would be slower."""
    numbers = [run for (run,) in select(connection, selection)]
    found = {run: load_run(connection, run) for run in numbers}
    return FoundRuns(
        tuple(run for run in found.values() if run is not None),
        tuple(number for number, run in found.items() if run is None),
    )


def load_run(connection: sqlite3.Connection, run: int) -> KeptRun | None:
    """Return the run with this number; None if there is none, or its row is damaged."""
    row = next(select(connection, Query(f"SELECT {RUN_COLUMNS} FROM runs WHERE id = ?", (run,))), None)
    return None if row is None else kept_run(row)


def trend(connection: sqlite3.Connection, metric: str, filters: Filters, limit: int | None) -> Trend:
    """Return the number of series, and the points of the first `limit` series."""
    found = list(select(connection, queries.series(metric, filters)))
    series = (_series(connection, metric, filters, *one) for one in found[:limit])
    return Trend(metric, tuple(one for one in series if one is not None), len(found))


def _series(
    connection: sqlite3.Connection, metric: str, filters: Filters, request: str, device: str | None
) -> Series | None:
    """Return the points of one series; None if the rows of all its runs are damaged."""
    points = list(select(connection, queries.points(metric, filters, request, device)))
    # The newest intact run describes what all have in common.
    newest = next((run for point in reversed(points) if (run := load_run(connection, point[0])) is not None), None)
    if newest is None:
        return None
    ids, moments, values = zip(*points, strict=True)
    return Series(newest, ids, moments, values)


def measure(connection: sqlite3.Connection, outdated: Query) -> PruneResult:
    """Return what `remove` would remove."""
    sizes = Query(
        "SELECT count(*), coalesce(sum(length(profile) + coalesce(length(picture), 0)), 0) FROM documents "
        f"WHERE run IN ({outdated.sql})",
        outdated.values,
    )
    count, size = next(select(connection, sizes))
    return PruneResult(count, size, count_runs(connection, Query("SELECT count(*) FROM runs")) - count)


def remove(connection: sqlite3.Connection, outdated: Query) -> PruneResult:
    """Remove the runs and all their data."""
    gone = measure(connection, outdated)
    connection.execute(f"DELETE FROM runs WHERE id IN ({outdated.sql})", outdated.values)
    return gone
