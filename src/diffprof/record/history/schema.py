"""The tables of a history, and the migrations from older ones."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from functools import lru_cache

# In the file's header ("dprf"): distinguishes a history from the SQLite files of other programs.
APPLICATION_ID = 0x64707266

# `runs` has the columns to search by; the large profiles are in `documents`. Indexes that end in created_at answer "the
# newest of these" without sorting. `runs_by_series` covers all that a trend reads.
_FIRST_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    pipeline TEXT NOT NULL,
    device TEXT,
    device_kind TEXT,
    dtype TEXT,
    height INTEGER,
    width INTEGER,
    frames INTEGER,
    steps INTEGER NOT NULL,
    macs INTEGER NOT NULL,
    parameters INTEGER NOT NULL,
    iterations INTEGER,
    wall_seconds REAL,
    peak_memory_bytes INTEGER,
    request TEXT NOT NULL,
    diffprof TEXT NOT NULL,
    python TEXT NOT NULL,
    torch TEXT NOT NULL,
    diffusers TEXT NOT NULL,
    transformers TEXT NOT NULL,
    words TEXT NOT NULL
);
CREATE TABLE documents (
    run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    profile BLOB NOT NULL,
    picture BLOB
);
CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag, run);
CREATE INDEX runs_by_time ON runs (created_at);
CREATE INDEX runs_by_model ON runs (model, created_at);
CREATE INDEX runs_by_kind ON runs (kind, created_at);
CREATE INDEX runs_by_device ON runs (device, created_at);
CREATE INDEX runs_by_device_kind ON runs (device_kind, created_at);
CREATE INDEX runs_by_dtype ON runs (dtype, created_at);
CREATE INDEX runs_by_macs ON runs (macs);
CREATE INDEX runs_by_parameters ON runs (parameters);
CREATE INDEX runs_by_wall_seconds ON runs (wall_seconds);
CREATE INDEX runs_by_peak_memory_bytes ON runs (peak_memory_bytes);
CREATE INDEX runs_by_series
    ON runs (request, device, created_at, id, wall_seconds, peak_memory_bytes, macs, parameters);
"""


def _create_tables(connection: sqlite3.Connection) -> None:
    # Not executescript, which would end the surrounding transaction.
    for statement in _FIRST_TABLES.split(";"):
        connection.execute(statement)


Migration = Callable[[sqlite3.Connection], None]


def _add_requested_steps(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN requested_steps INTEGER")


# Each migrates the tables of one version to the next. 1: the first version. 2: the requested steps, which are not
# always the executed ones; unknown for older runs.
MIGRATIONS: tuple[Migration, ...] = (_create_tables, _add_requested_steps)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0 if there are none yet."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def application_of(connection: sqlite3.Connection) -> int:
    """Return the application ID of the file."""
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def tables_in(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def has_foreign_code(connection: sqlite3.Connection) -> bool:
    """Whether the file has views, triggers or virtual tables, which would execute foreign code."""
    sql = "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'"
    return bool(connection.execute(sql).fetchone()[0])


def has_our_tables(connection: sqlite3.Connection) -> bool:
    """Whether the tables are those of the migrations; others may have constraints and computed columns."""
    return _tables(connection) == _tables_of_version(version_of(connection))


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE name IN ('runs', 'documents', 'tags')")
    # Versions of SQLite differ in whitespace.
    return {str(name): "".join(str(sql).split()) for name, sql in found}


@lru_cache
def _tables_of_version(version: int) -> dict[str, str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for apply in MIGRATIONS[:version]:
            apply(connection)
        return _tables(connection)


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Apply the missing migrations inside the caller's transaction: all of them or none."""
    if version_of(connection) >= len(migrations):
        return  # another process was faster
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for apply in migrations[version_of(connection) :]:
        apply(connection)
    connection.execute(f"PRAGMA user_version = {len(migrations)}")
