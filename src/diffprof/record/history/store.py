"""The SQLite file of a history: shared by many processes, and never half-written.

Each transaction has its own connection, so that threads need not share one, and a killed process leaves nothing but an
uncommitted transaction.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from diffprof.errors import DiffprofError, FileFormatError, OutputError, RequestError
from diffprof.record.history import schema

_Result = TypeVar("_Result")
Work = Callable[[sqlite3.Connection], _Result]

TIMEOUT_SECONDS = 20.0
_PAUSE_SECONDS = 0.02
_ELSEWHERE = "name another file with DIFFPROF_HISTORY"
_REPAIR = "`diffprof history repair FILE` writes a copy of what can be read, or move it away to start a new one"


class Store:
    """The file of a history, which is created by the first write."""

    def __init__(self, path: Path, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.path = path
        self._timeout = timeout_seconds

    def write(self, work: Work[_Result]) -> _Result:
        """Execute the work in an exclusive write transaction; an error rolls it back."""
        return self._retry(lambda: self._write(work))

    def read(self, work: Work[_Result], nothing: _Result) -> _Result:
        """Execute the work on one state of the store; return `nothing` if there is no store yet."""
        if self.is_new():
            return nothing
        return self._retry(lambda: self._read(work))

    def shrink(self) -> None:
        """Free the space of removed runs."""

        def vacuum() -> None:
            with self._open("rw") as connection:
                # Not execute, which would free only one page.
                connection.executescript("PRAGMA incremental_vacuum")

        self._retry(vacuum)

    def _write(self, work: Work[_Result]) -> _Result:
        if self.is_new():
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open("rwc") as connection:
            # With a write-ahead log, readers and writers do not wait for each other.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            with _transaction(connection, "IMMEDIATE"):
                return work(connection)

    def _read(self, work: Work[_Result]) -> _Result:
        try:
            return self._read_as("rw", work)
        except sqlite3.OperationalError as error:
            # Reading needs files next to the database, which cannot be created in a write-protected folder. If no
            # writer has left a log, the database file is complete without them.
            if not _is_protected(error) or self._has_log():
                raise
            return self._read_as("ro&immutable=1", work)

    def _read_as(self, mode: str, work: Work[_Result]) -> _Result:
        with self._open(mode) as connection:
            connection.execute("PRAGMA query_only = ON")
            with _transaction(connection, "DEFERRED"):
                return work(connection)

    @contextlib.contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open a connection to tables of this version."""
        with contextlib.closing(self._connect(mode)) as connection:
            self._check_owner(connection)
            if schema.version_of(connection) < len(schema.MIGRATIONS):
                self._migrate(connection)
            yield connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        # Transactions are started and ended explicitly, not by the sqlite3 module.
        connection = sqlite3.connect(address, uri=True, timeout=self._timeout, isolation_level=None)
        # A damaged text must not hide the others.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        # Only effective before the first table exists; it lets the file shrink without a full VACUUM.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with _transaction(connection, "IMMEDIATE"):
            schema.migrate(connection, schema.MIGRATIONS)

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        """Refuse the file of another program, or of a newer diffprof, before anything is changed."""
        # In one transaction, because another process may be creating the tables.
        with _transaction(connection, "DEFERRED"):
            tables, application = schema.tables_in(connection), schema.application_of(connection)
            version, known = schema.version_of(connection), len(schema.MIGRATIONS)
            is_ours = not schema.has_foreign_code(connection) and (version > known or schema.has_our_tables(connection))
        if application != schema.APPLICATION_ID and (tables or application or version):
            raise FileFormatError(f"{self.path} is the SQLite file of another program; {_ELSEWHERE}.")
        if version > known:
            raise FileFormatError(
                f"The history {self.path} has version {version}, this diffprof reads up to {known}; upgrade diffprof."
            )
        if not is_ours:
            raise FileFormatError(f"The tables of the history {self.path} are not those of diffprof; {_REPAIR}.")

    def is_new(self) -> bool:
        """Whether nothing was ever written.

        The file is not opened for this, because closing it would release the locks of this process's other connections.
        """
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            raise RequestError(f"Cannot read the history {self.path}: {error.strerror or error}.") from error
        if not stat.S_ISREG(status.st_mode):
            raise RequestError(f"The history {self.path} is not a file; {_ELSEWHERE}.")
        if status.st_size == 1:
            # SQLite treats it as an empty database.
            raise self._foreign_file_error()
        return status.st_size == 0

    def _foreign_file_error(self) -> FileFormatError:
        return FileFormatError(f"{self.path} is not a diffprof history; {_ELSEWHERE}.")

    def _has_log(self) -> bool:
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.exists() and log.stat().st_size > 0

    def _retry(self, attempt: Callable[[], _Result]) -> _Result:
        """Try again while other processes hold the file, until the timeout.

        SQLite waits by itself, but not while a file is created, recovered or changes its journal mode.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return attempt()
            except sqlite3.DatabaseError as error:
                # All but one of its subclasses are errors in a statement, unless the file is damaged.
                is_of_file = type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError)
                if not is_of_file and self._is_intact():
                    raise
                if not _is_busy(error) or time.monotonic() >= deadline:
                    raise self._explain(error) from error
            except UnicodeDecodeError as error:
                # SQLite's message quotes damaged bytes, which the sqlite3 module cannot decode.
                raise self._damage("its content is not text") from error
            except OSError as error:
                raise RequestError(f"Cannot write the history {self.path}: {error.strerror or error}.") from error
            time.sleep(_PAUSE_SECONDS * (0.5 + random.random()))

    def _explain(self, error: sqlite3.DatabaseError) -> DiffprofError:
        """Convert the error to a sentence. Python 3.10 has no error codes, only SQLite's message."""
        message = str(error)
        if _is_busy(error):
            return RequestError(f"The history {self.path} is locked by another process; try again later.")
        if _is_protected(error):
            return RequestError(f"The history {self.path} is write-protected; {_ELSEWHERE}.")
        if "not a database" in message:
            return self._foreign_file_error()
        if "full" in message:
            return OutputError(f"The history {self.path} cannot be written: the disk is full.")
        if "disk I/O error" in message:
            return OutputError(f"The history {self.path} cannot be used: {message}; the disk may be full.")
        return self._damage(message)

    def _damage(self, reason: str) -> FileFormatError:
        return FileFormatError(f"The history {self.path} is damaged ({reason}); {_REPAIR}.")

    def _is_intact(self) -> bool:
        """Whether SQLite finds no damage."""
        try:
            with contextlib.closing(self._connect("ro")) as connection:
                return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
        except (sqlite3.Error, UnicodeDecodeError):
            return False


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Even after Ctrl-C. SQLite may already have rolled back, for example because the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return "locked" in str(error) or "locking protocol" in str(error)


def _is_protected(error: sqlite3.DatabaseError) -> bool:
    return "readonly" in str(error) or "unable to open" in str(error)
