"""Which kept runs to select, as SQL."""

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
    """Conditions that must all hold. `device` is the name of one, or a kind such as ``cuda``."""

    model: str | None = None
    kind: str | None = None
    since: datetime | None = None
    """From this moment on."""
    until: datetime | None = None
    """Up to, but not including, this moment."""
    tag: str | None = None
    device: str | None = None
    dtype: str | None = None
    text: str | None = None
    """Anywhere in the names and prompts, case-insensitive."""


@dataclass(frozen=True)
class Query:
    """A statement and its values."""

    sql: str
    values: tuple[Any, ...] = ()


def conditions(filters: Filters) -> Query:
    """The WHERE clause."""
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
    """The numbers of the runs that match, the newest or largest first; those without the metric come last."""
    where = conditions(filters)
    if order not in ORDERS:
        raise RequestError(f"Runs cannot be ordered by {order!r}; there are {', '.join(ORDERS)}.")
    # A text search reads every run: a table scan is quicker than following an index ("+" disables it).
    by = f"+{order}" if filters.text is not None else order
    way = "ASC" if reverse else "DESC"
    # SQLite sorts NULL before everything.
    known = f"{by} IS NULL, " if reverse and order != "created_at" else ""
    return Query(
        f"SELECT id FROM runs WHERE {where.sql} ORDER BY {known}{by} {way}, id {way} LIMIT ? OFFSET ?",
        (*where.values, -1 if limit is None else limit, offset),
    )


def count(filters: Filters) -> Query:
    """How many match."""
    where = conditions(filters)
    return Query(f"SELECT count(*) FROM runs WHERE {where.sql}", where.values)


def _is_number(metric: str) -> str:
    """A file may hold anything in any column: texts are no points of a trend, and what is infinite is none either."""
    # "+" keeps SQLite from searching by the metric: one index has all that a trend reads.
    return f"typeof({metric}) IN ('integer', 'real') AND +{metric} BETWEEN 0 AND 1e60 AND typeof(created_at) = 'text'"


def series(metric: str, filters: Filters) -> Query:
    """The requests and devices that have runs with this metric, the one with the newest run first."""
    where = conditions(filters)
    return Query(
        f"SELECT request, device FROM runs WHERE {_is_number(metric)} AND {where.sql} "
        "GROUP BY request, device ORDER BY max(created_at) DESC, max(id) DESC",
        where.values,
    )


def points(metric: str, filters: Filters, request: str, device: str | None) -> Query:
    """The metric in every run of one request on one device, oldest first."""
    where = conditions(filters)
    return Query(
        f"SELECT id, created_at, {metric} FROM runs WHERE request = ? AND device IS ? AND {_is_number(metric)} "
        f"AND {where.sql} ORDER BY created_at, id",
        (request, device, *where.values),
    )


def timestamp(time: datetime) -> str:
    """A UTC time in one format, so that texts sort as times do."""
    return time.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def storable_text(text: str) -> str:
    """The text as SQLite can store it: names from a file system can have lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
