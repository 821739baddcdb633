"""Select kept runs, as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from diffprof.errors import RequestError

KINDS = ("profile", "run", "generate")
METRICS = ("wall_seconds", "peak_memory_bytes", "macs", "parameters")
ORDERS = ("created_at", *METRICS)


@dataclass(frozen=True)
class Filters:
    """Conditions that must all hold. `device` is the name or the type of a device, such as ``cuda``."""

    model: str | None = None
    kind: str | None = None
    since: datetime | None = None
    """From this time on."""
    until: datetime | None = None
    """Up to, but not including, this time."""
    tag: str | None = None
    device: str | None = None
    dtype: str | None = None
    text: str | None = None
    """A text in the names or prompts, case-insensitive."""


@dataclass(frozen=True)
class Query:
    """A statement and its values."""

    sql: str
    values: tuple[Any, ...] = ()


def conditions(filters: Filters) -> Query:
    """Return the WHERE clause."""
    parts: list[Query] = []
    for column in ("model", "kind", "dtype"):
        value = getattr(filters, column)
        if value is not None:
            parts.append(Query(f"{column} = ?", (storable_text(value),)))
    if filters.device is not None:
        parts.append(Query("(device = ? OR device_kind = ?)", (storable_text(filters.device),) * 2))
    if filters.since is not None:
        parts.append(Query("created_at >= ?", (timestamp(filters.since),)))
    if filters.until is not None:
        parts.append(Query("created_at < ?", (timestamp(filters.until),)))
    if filters.tag is not None:
        parts.append(Query("id IN (SELECT run FROM tags WHERE tag = ?)", (storable_text(filters.tag),)))
    if filters.text is not None:
        parts.append(Query("instr(words, ?)", (storable_text(filters.text.casefold()),)))
    return Query(
        " AND ".join(part.sql for part in parts) or "1", tuple(value for part in parts for value in part.values)
    )


def selection(filters: Filters, order: str, reverse: bool, limit: int | None, offset: int) -> Query:
    """Select the numbers of matching runs, the newest or largest first; runs without the metric come last."""
    where = conditions(filters)
    if order not in ORDERS:
        raise RequestError(f"Runs cannot be ordered by {order!r}; there are {', '.join(ORDERS)}.")
    # A text search reads every run, and a table scan is faster than an index ("+" disables it).
    by = f"+{order}" if filters.text is not None else order
    way = "ASC" if reverse else "DESC"
    # SQLite sorts NULL before everything.
    known = f"{by} IS NULL, " if reverse and order != "created_at" else ""
    return Query(
        f"SELECT id FROM runs WHERE {where.sql} ORDER BY {known}{by} {way}, id {way} LIMIT ? OFFSET ?",
        (*where.values, -1 if limit is None else limit, offset),
    )


def count(filters: Filters) -> Query:
    """Count the matching runs."""
    where = conditions(filters)
    return Query(f"SELECT count(*) FROM runs WHERE {where.sql}", where.values)


def _is_number(metric: str) -> str:
    """Return the condition that the metric is a finite number: a file may have anything in any column."""
    # "+" keeps SQLite from searching by the metric: one index covers all that a trend reads.
    return f"typeof({metric}) IN ('integer', 'real') AND +{metric} BETWEEN 0 AND 1e60 AND typeof(created_at) = 'text'"


def series(metric: str, filters: Filters) -> Query:
    """Select the requests and devices that have runs with this metric, the one with the newest run first."""
    where = conditions(filters)
    return Query(
        f"SELECT request, device FROM runs WHERE {_is_number(metric)} AND {where.sql} "
        "GROUP BY request, device ORDER BY max(created_at) DESC, max(id) DESC",
        where.values,
    )


def points(metric: str, filters: Filters, request: str, device: str | None) -> Query:
    """Select the metric in every run of one request on one device, oldest first."""
    where = conditions(filters)
    return Query(
        f"SELECT id, created_at, {metric} FROM runs WHERE request = ? AND device IS ? AND {_is_number(metric)} "
        f"AND {where.sql} ORDER BY created_at, id",
        (request, device, *where.values),
    )


def timestamp(time: datetime) -> str:
    """Format a UTC time so that strings sort as times do."""
    return time.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def storable_text(text: str) -> str:
    """Convert a text for SQLite: names from a file system can have lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
