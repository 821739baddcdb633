"""`History`: keep profiles, find them again, and follow a metric over time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof import settings as config
from diffprof.errors import FileFormatError, RequestError
from diffprof.record.history import filters as queries
from diffprof.record.history import rows
from diffprof.record.history.filters import KINDS, METRICS, Filters, Query, timestamp
from diffprof.record.history.records import FoundRuns, KeptRun, PruneResult, RepairResult, Trend
from diffprof.record.history.store import TIMEOUT_SECONDS, Store

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

TagChange = Callable[[sqlite3.Connection, int, Sequence[str]], None]
LONGEST_TAG = 100
REPAIR = "`diffprof history repair FILE` writes a copy of what is intact"
ALL = Filters()


class History:
    """The kept runs in one file, which is created when the first run is added.

    Any number of threads and processes may use it at once. `timeout_seconds` is how long to wait for another writer.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self.path = default_path() if path is None else Path(path)
        self._store = Store(self.path, timeout_seconds)
        self._now = now

    def check_writable(self) -> None:
        """Fail before a long run instead of after it if it could not be kept; creates the file if there is none."""
        self._store.write(lambda connection: rows.exists(connection, 1))

    def add(self, profile: Profile, kind: str, tags: Iterable[str] = (), picture: bytes | None = None) -> int:
        """Keep a profile, with the encoded image if there is one; return the number of the run."""
        from diffprof.record.history.documents import pack
        from diffprof.record.history.summary import summary

        if kind not in KINDS:
            raise RequestError(f"A run cannot be of the kind {kind!r}; there are {', '.join(KINDS)}.")
        values = {"created_at": timestamp(self._now()), "kind": kind, **summary(profile)}
        document, labels = pack(profile), _check_tags(tags)
        return self._store.write(lambda connection: rows.insert(connection, values, document, labels, picture))

    def get(self, run: int) -> Profile:
        """Return the whole profile."""
        from diffprof.record.history.documents import unpack

        data = self._document(run, "profile")
        try:
            return unpack(data if isinstance(data, bytes) else b"")
        except FileFormatError as error:
            raise FileFormatError(f"Run {run} of the history {self.path}: {error}") from error

    def picture(self, run: int) -> bytes | None:
        """Return the encoded image of a run; None if there is none or it is damaged."""
        data = self._document(run, "picture")
        return data if isinstance(data, bytes) else None

    def get_run(self, run: int) -> KeptRun:
        """Return the summary of one run, without reading its profile."""
        self._check_number(run)
        found = self._store.read(lambda connection: rows.load_run(connection, run), None)
        if found is None:
            if self._store.read(lambda connection: rows.exists(connection, run), False):
                raise FileFormatError(f"Run {run} of the history {self.path} is damaged; {REPAIR}.")
            raise self._unknown_run(run)
        return found

    def find(
        self,
        filters: Filters = ALL,
        *,
        limit: int | None = 50,
        offset: int = 0,
        order: str = "created_at",
        reverse: bool = False,
    ) -> tuple[KeptRun, ...]:
        """Return the matching runs, the newest or largest first; with `reverse`, the oldest or smallest first."""
        return self.search(filters, limit=limit, offset=offset, order=order, reverse=reverse).runs

    def search(
        self,
        filters: Filters = ALL,
        *,
        limit: int | None = 50,
        offset: int = 0,
        order: str = "created_at",
        reverse: bool = False,
    ) -> FoundRuns:
        """Return what `find` returns, and the numbers of matching runs that are damaged."""
        query = queries.selection(filters, order, reverse, limit, offset)
        return self._store.read(lambda connection: rows.find(connection, query), FoundRuns(()))

    def count(self, filters: Filters = ALL) -> int:
        """Count the matching runs."""
        return self._store.read(lambda connection: rows.count_runs(connection, queries.count(filters)), 0)

    def trend(self, metric: str, filters: Filters = ALL, *, limit: int | None = None) -> Trend:
        """Return a metric over time: a series for each request and device, at most `limit`, newest runs first."""
        if metric not in METRICS:
            raise RequestError(f"There is no trend of {metric!r}; there are {', '.join(METRICS)}.")
        nothing = Trend(metric, (), 0)
        return self._store.read(lambda connection: rows.trend(connection, metric, filters, limit), nothing)

    def tag(self, run: int, *tags: str) -> None:
        """Add tags to a run."""
        self._change_tags(run, rows.add_tags, tags)

    def untag(self, run: int, *tags: str) -> None:
        """Remove tags from a run; tags that it does not have are ignored."""
        self._change_tags(run, rows.remove_tags, tags)

    def export(self, path: str | Path, filters: Filters = ALL) -> int:
        """Write the matching runs to a .csv or .parquet file, oldest first; return how many there were."""
        from diffprof.record.history.export import check_path, write

        target = check_path(Path(path))
        found = self.find(filters, limit=None, reverse=True)
        write(found, target)
        return len(found)

    def repair(self, path: str | Path) -> RepairResult:
        """Write a new history with every readable run of this one."""
        from diffprof.record.history.repair import repair

        return repair(self.path, Path(path))

    def prune(
        self,
        *,
        keep: int | None = None,
        older_than: datetime | timedelta | None = None,
        filters: Filters = ALL,
        dry_run: bool = False,
    ) -> PruneResult:
        """Remove all but the newest `keep` of the matching runs, or those older than a date or age."""
        query, nothing = self._outdated_runs(keep, older_than, filters), PruneResult(0, 0, 0)
        if dry_run:
            return self._store.read(lambda connection: rows.measure(connection, query), nothing)
        if self._store.is_new():
            return nothing
        pruned = self._store.write(lambda connection: rows.remove(connection, query))
        self._store.shrink()
        return pruned

    def _outdated_runs(self, keep: int | None, older_than: datetime | timedelta | None, filters: Filters) -> Query:
        if (keep is None) == (older_than is None):
            raise RequestError("pass either keep or older_than")
        if older_than is not None:
            edge = older_than if isinstance(older_than, datetime) else self._now() - older_than
            where = queries.conditions(filters)
            return Query(f"SELECT id FROM runs WHERE created_at < ? AND {where.sql}", (timestamp(edge), *where.values))
        if keep is None or keep < 0:
            raise RequestError(f"The number of runs to keep must be 0 or more, not {keep}.")
        return queries.selection(filters, "created_at", False, None, keep)

    def _change_tags(self, run: int, change: TagChange, tags: Iterable[str]) -> None:
        labels = _check_tags(tags)
        self._check_number(run)

        def work(connection: sqlite3.Connection) -> None:
            if not rows.exists(connection, run):
                raise self._unknown_run(run)
            change(connection, run, labels)

        if self._store.is_new():
            raise self._unknown_run(run)
        self._store.write(work)

    def _document(self, run: int, column: str) -> object:
        self._check_number(run)
        query = Query(f"SELECT {column} FROM documents WHERE run = ?", (run,))
        found = self._store.read(lambda connection: next(rows.select(connection, query), None), None)
        if found is None:
            raise self._unknown_run(run)
        return found[0]

    def _check_number(self, run: int) -> None:
        # SQLite does not accept larger ones.
        if not 0 < run < 2**63:
            raise self._unknown_run(run)

    def _unknown_run(self, run: int) -> RequestError:
        return RequestError(f"There is no run {run} in {self.path}; `diffprof history list` lists them.")


def _check_tags(tags: Iterable[str]) -> list[str]:
    labels = [tag.strip() for tag in tags]
    for tag in labels:
        if not 0 < len(tag) <= LONGEST_TAG or not tag.isprintable():
            raise RequestError(f"A tag must be 1 to {LONGEST_TAG} printable characters on one line, not {tag!r}.")
    return labels


def default_path() -> Path:
    """Return ``$DIFFPROF_HISTORY``, else the path in the settings, else a file in the platform's folder for data."""
    return config.HISTORY
