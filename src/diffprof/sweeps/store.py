"""Store the results of sweeps on disk, so that an interrupted sweep resumes, and a larger one reuses them.

The key of a result covers everything it depends on: the request, the model's configuration, and the versions of
diffprof and the libraries. One SQLite file has the results of all sweeps.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

from diffprof import catalogue
from diffprof.catalogue.names import Place, resolve
from diffprof.errors import OutputError
from diffprof.record import cache
from diffprof.record.bounded_json import parse_json
from diffprof.record.saved_profiles import saved_file
from diffprof.sweeps.records import COLUMNS, Row, Task

APPLICATION_ID = 0x64707377
"""Identifies the SQLite file as a store of sweeps."""

TIMEOUT_SECONDS = 20.0
MAX_ANSWERS = 1_000_000
"""Beyond this number, the oldest results are deleted."""

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, rows TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS logged (key TEXT, tracker TEXT, PRIMARY KEY (key, tracker));
"""


class SweepStore:
    """The file of results; created when it is opened."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache.sweeps_file()
        with self._explain():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=TIMEOUT_SECONDS, isolation_level=None)
            self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
            self._check_owner()
            # With a write-ahead log, other sweeps can read and write the same file.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.executescript(_TABLES)

    def rows(self, task: Task) -> tuple[Row, ...] | None:
        """The stored rows of a task; None if there are none, or if another version wrote them."""
        with self._explain():
            found = self._connection.execute("SELECT rows FROM answers WHERE key = ?", (key_of(task),)).fetchone()
        try:
            return None if found is None else tuple(_row(values) for values in parse_json(found[0]))
        except (ValueError, TypeError, RecursionError):
            return None  # damaged: evaluate it again

    def keep(self, task: Task, rows: tuple[Row, ...]) -> None:
        """Store the rows of a task, durably."""
        document = json.dumps([astuple(row) for row in rows])
        with self._explain():
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key_of(task), document))

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Store several results in one transaction, which is much faster."""
        with self._explain():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                # Committed even after Ctrl-C, because the results so far are valid.
                self._connection.execute("COMMIT")

    def is_logged(self, task: Task, tracker: str) -> bool:
        """Whether a tracker already has the result."""
        with self._explain():
            found = self._connection.execute(
                "SELECT 1 FROM logged WHERE key = ? AND tracker = ?", (key_of(task), tracker)
            ).fetchone()
        return found is not None

    def mark_logged(self, task: Task, tracker: str) -> None:
        """Record that a tracker has the result."""
        with self._explain():
            self._connection.execute("INSERT OR REPLACE INTO logged VALUES (?, ?)", (key_of(task), tracker))

    def close(self) -> None:
        """Delete excess results, and close the file."""
        with self._explain():
            self._connection.execute(
                "DELETE FROM answers WHERE rowid <= (SELECT max(rowid) FROM answers) - ?", (MAX_ANSWERS,)
            )
            self._connection.close()

    def _check_owner(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        others = "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'"
        has_others = bool(self._connection.execute(others).fetchone()[0])
        if has_others or (tables and application != APPLICATION_ID):
            raise OutputError(f"{self.path} is the SQLite file of another program; choose another file with --store.")

    @contextlib.contextmanager
    def _explain(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise OutputError(
                f"The results of sweeps cannot be stored in {self.path} ({error}); name another file with --store."
            ) from error
        except OSError as error:
            raise OutputError(f"Cannot write {self.path}: {error.strerror or error}.") from error


def _row(values: list[Any]) -> Row:
    """Create a row; a `TypeError` if a value does not have the type of its column."""
    row = Row(*values)
    for column, kinds in _column_kinds().items():
        if not isinstance(getattr(row, column), kinds):
            raise TypeError(column)
    return row


@lru_cache
def _column_kinds() -> dict[str, Any]:
    """The types of each column; JSON may contain an integer for a float."""
    hints = get_type_hints(Row)
    return {name: kind | int if kind in (float, float | None) else kind for name, kind in hints.items()}


def key_of(task: Task) -> str:
    """A key of everything that the result depends on."""
    document = json.dumps(task.to_json(), sort_keys=True, default=str)
    return hashlib.sha256(f"{_content_key(str(task.request.model))} {document}".encode()).hexdigest()


@lru_cache(maxsize=256)
def _content_key(model: str) -> str:
    """A key of the model's configuration and the versions; cached for each model of a sweep."""
    return cache.key(model, _content(model), {"columns": list(COLUMNS)})


def _content(model: str) -> bytes:
    file = saved_file(model)
    if file is not None:
        return file.read_bytes() if file.is_file() else b""
    resolved = resolve(model)
    if resolved.file is not None:
        return cache.digest_of_file(resolved.file)
    if resolved.place is Place.catalogue:
        return catalogue.content(resolved.name) or b""
    return cache.digest_of_folder(resolved.folder) if resolved.folder is not None else b""
