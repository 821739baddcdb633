"""The statements that read and change the tables, each on a connection with a transaction under way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffprof.record.history import filters as queries
from diffprof.record.history.filters import Filters, Query
from diffprof.record.history.kept import COLUMNS, Kept, Pruned, Series, Trend

# A row for each run: its tags in one text, as there are few of them.
SHOWN = (
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
    """A new run; its number."""
    marks = ", ".join("?" * len(values))
    added = connection.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
    run = added.lastrowid
    assert run is not None
    connection.execute("INSERT INTO documents (run, profile, picture) VALUES (?, ?, ?)", (run, profile, picture))
    add_tags(connection, run, tags)
    return run


def exists(connection: sqlite3.Connection, run: int) -> bool:
    return next(rows(connection, Query("SELECT 1 FROM runs WHERE id = ?", (run,))), None) is not None


def add_tags(connection: sqlite3.Connection, run: int, tags: Sequence[str]) -> None:
    connection.executemany("INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)", [(run, tag) for tag in tags])


def remove_tags(connection: sqlite3.Connection, run: int, tags: Sequence[str]) -> None:
    connection.executemany("DELETE FROM tags WHERE run = ? AND tag = ?", [(run, tag) for tag in tags])


def rows(connection: sqlite3.Connection, query: Query) -> Iterator[tuple[Any, ...]]:
    return connection.execute(query.sql, query.values)


def number(connection: sqlite3.Connection, query: Query) -> int:
    return int(next(rows(connection, query))[0])


def find(connection: sqlite3.Connection, selection: Query) -> tuple[Kept, ...]:
    """The runs that were selected. Each is looked up by itself: what sorting had to carry along would slow it down."""
    found = (kept(connection, run) for (run,) in rows(connection, selection))
    return tuple(run for run in found if run is not None)


def kept(connection: sqlite3.Connection, run: int) -> Kept | None:
    """The run with this number."""
    row = next(rows(connection, Query(f"SELECT {SHOWN} FROM runs WHERE id = ?", (run,))), None)
    if row is None:
        return None
    *columns, tags, picture = row
    labels = tuple(sorted(tags.split("\n"))) if tags else ()
    return Kept(**dict(zip(COLUMNS, columns, strict=True)), tags=labels, picture=bool(picture))


def trend(connection: sqlite3.Connection, metric: str, meant: Filters, limit: int | None) -> Trend:
    """How many series there are, and the points of those that are asked for."""
    found = list(rows(connection, queries.series(metric, meant)))
    return Trend(metric, tuple(_series(connection, metric, meant, *one) for one in found[:limit]), len(found))


def _series(connection: sqlite3.Connection, metric: str, meant: Filters, request: str, device: str | None) -> Series:
    points = rows(connection, queries.points(metric, meant, request, device))
    ids, moments, values = zip(*points, strict=True)
    newest = kept(connection, ids[-1])
    assert newest is not None
    return Series(newest, ids, moments, values)


def measure(connection: sqlite3.Connection, outdated: Query) -> Pruned:
    """What would go."""
    sizes = Query(
        "SELECT count(*), coalesce(sum(length(profile) + coalesce(length(picture), 0)), 0) FROM documents "
        f"WHERE run IN ({outdated.sql})",
        outdated.values,
    )
    count, size = next(rows(connection, sizes))
    return Pruned(count, size, number(connection, Query("SELECT count(*) FROM runs")) - count)


def remove(connection: sqlite3.Connection, outdated: Query) -> Pruned:
    """Remove the runs and all that belongs to them."""
    gone = measure(connection, outdated)
    connection.execute(f"DELETE FROM runs WHERE id IN ({outdated.sql})", outdated.values)
    return gone
