"""Copy the readable runs of a damaged history, each from its own profile, into a new file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffprof.errors import FileFormatError, OutputError, RequestError
from diffprof.record.history import rows
from diffprof.record.history.documents import unpack
from diffprof.record.history.filters import KINDS
from diffprof.record.history.records import RepairResult
from diffprof.record.history.row_checks import is_timestamp
from diffprof.record.history.schema import has_foreign_code
from diffprof.record.history.store import Store
from diffprof.record.history.summary import summary
from diffprof.record.profile import Profile

SQLITE_FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""UnicodeDecodeError, because SQLite's message may quote bytes of the file that are not text."""

OLDEST = "1970-01-01T00:00:00.000000Z"
"""The time of a run that has lost its own, if no run precedes it."""


def repair(damaged: Path, target: Path) -> RepairResult:
    """Write a new history with every run whose profile can be read, under its old number."""
    if target.exists():
        raise RequestError(f"{target} already exists; name a new file for the repaired history.")
    temporary = target.with_name(f".{target.name}.repairing")
    with _open(damaged) as connection:
        numbers, is_complete = _numbers(connection)
        try:
            temporary.unlink(missing_ok=True)
            result = Store(temporary).write(lambda new: _copy(connection, new, numbers, is_complete))
            temporary.rename(target)
        except OSError as error:
            raise OutputError(f"Cannot write {target}: {error.strerror or error}.") from error
        finally:
            for ending in ("", "-wal", "-shm"):
                temporary.with_name(temporary.name + ending).unlink(missing_ok=True)
    return result


@contextlib.contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise RequestError(f"There is no history {path} to repair.")
    # Nothing is written, not even next to the file: it is opened as immutable, unless it has a log.
    has_log = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    with contextlib.closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            is_safe = not has_foreign_code(connection)
        except SQLITE_FAILURES as error:
            raise FileFormatError(f"Nothing of {path} can be read as a history ({error}).") from error
        if not is_safe:
            raise FileFormatError(f"{path} has views or triggers, which no history has; it is not read.")
        yield connection


def _numbers(connection: sqlite3.Connection) -> tuple[list[int], bool]:
    """Return the numbers of all runs that occur anywhere, and whether both tables could be read to their ends."""
    found: set[int] = set()
    is_complete = True
    for table, column in (("runs", "id"), ("documents", "run")):
        # From both ends, because rows behind a damaged page can be read from the other side.
        ways = [_add_numbers(connection, found, table, column, way) for way in ("ASC", "DESC")]
        is_complete = is_complete and all(ways)
    return sorted(found), is_complete


def _add_numbers(connection: sqlite3.Connection, found: set[int], table: str, column: str, way: str) -> bool:
    """Add the numbers of a table as far as it can be read; return whether it could be read to its end."""
    try:
        for (number,) in connection.execute(f"SELECT {column} FROM {table} NOT INDEXED ORDER BY rowid {way}"):
            if isinstance(number, int) and number > 0:
                found.add(number)
    except SQLITE_FAILURES:
        return False
    return True


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, numbers: Sequence[int], is_complete: bool) -> RepairResult:
    moment, lost, redated = OLDEST, [], []
    for number in numbers:
        profile, packed, picture = _document(old, number)
        if profile is None:
            lost.append(number)
            continue
        created_at, kind = _first(old, "SELECT created_at, kind FROM runs NOT INDEXED WHERE id = ?", number) or ("", "")
        if is_timestamp(created_at):
            moment = created_at
        else:
            redated.append(number)
        known = kind if kind in KINDS else "profile" if profile.measured is None else "run"
        values = {"id": number, "created_at": moment, "kind": known, **summary(profile)}
        rows.insert(new, values, packed, _tags(old, number), picture)
    return RepairResult(len(numbers) - len(lost), tuple(lost), tuple(redated), is_complete)


def _document(connection: sqlite3.Connection, number: int) -> tuple[Profile | None, bytes, bytes | None]:
    packed, picture = _first(connection, "SELECT profile, picture FROM documents WHERE run = ?", number) or (None, None)
    if not isinstance(packed, bytes):
        return None, b"", None
    try:
        return unpack(packed), packed, picture if isinstance(picture, bytes) else None
    except FileFormatError:
        return None, b"", None


def _tags(connection: sqlite3.Connection, number: int) -> list[str]:
    try:
        found = [tag for (tag,) in connection.execute("SELECT tag FROM tags WHERE run = ?", (number,))]
    except SQLITE_FAILURES:
        return []
    return [tag for tag in found if isinstance(tag, str) and tag.isprintable() and tag]


def _first(connection: sqlite3.Connection, sql: str, number: int) -> Any:
    try:
        return connection.execute(sql, (number,)).fetchone()
    except SQLITE_FAILURES:
        return None
