"""Which kept runs are meant, as SQL."""

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
    """All that is given must hold. `device` is the name of one, or a kind such as ``cuda``."""

    model: str | None = None
    kind: str | None = None
    since: datetime | None = None
    """From this moment on."""
    until: datetime | None = None
    """Up to this moment, it not included."""
    tag: str | None = None
    device: str | None = None
    dtype: str | None = None
    text: str | None = None
    """Anywhere in the names and prompts; capitals do not matter."""


@dataclass(frozen=True)
class Query:
    """A statement and its values."""

    sql: str
    values: tuple[Any, ...] = ()


def conditions(filters: Filters) -> Query:
    """What stands behind WHERE."""
    parts: list[Query] = []
    for column in ("model", "kind", "dtype"):
        value = getattr(filters, column)
        if value is not None:
            parts.append(Query(f"{column} = ?", (storable(value),)))
    if filters.device is not None:
        parts.append(Query("(device = ? OR device_kind = ?)", (storable(filters.device),) * 2))
    if filters.since is not None:
        parts.append(Query("created_at >= ?", (moment(filters.since),)))
    if filters.until is not None:
        parts.append(Query("created_at < ?", (moment(filters.until),)))
    if filters.tag is not None:
        parts.append(Query("id IN (SELECT run FROM tags WHERE tag = ?)", (storable(filters.tag),)))
    if filters.text is not None:
        parts.append(Query("instr(words, ?)", (storable(filters.text.casefold()),)))
    return Query(
        " AND ".join(part.sql for part in parts) or "1", tuple(value for part in parts for value in part.values)
    )


def selection(filters: Filters, order: str, reverse: bool, limit: int | None, offset: int) -> Query:
    """The numbers of the runs that are meant, the newest or largest first; those without the figure come last."""
    where = conditions(filters)
    if order not in ORDERS:
        raise RequestError(f"Runs cannot be ordered by {order!r}; there are {', '.join(ORDERS)}.")
    # A word has to be looked for in every run: in the order of the table, which is quicker than that of an index.
    by = f"+{order}" if filters.text is not None else order
    way = "ASC" if reverse else "DESC"
    # Nothing is the smallest of all for SQLite.
    known = f"{by} IS NULL, " if reverse and order != "created_at" else ""
    return Query(
        f"SELECT id FROM runs WHERE {where.sql} ORDER BY {known}{by} {way}, id {way} LIMIT ? OFFSET ?",
        (*where.values, -1 if limit is None else limit, offset),
    )


def count(filters: Filters) -> Query:
    """How many are meant."""
    where = conditions(filters)
    return Query(f"SELECT count(*) FROM runs WHERE {where.sql}", where.values)


def series(metric: str, filters: Filters) -> Query:
    """The requests and devices that have runs with this figure, that with the newest run first."""
    where = conditions(filters)
    return Query(
        f"SELECT request, device FROM runs WHERE {metric} IS NOT NULL AND {where.sql} "
        "GROUP BY request, device ORDER BY max(created_at) DESC, max(id) DESC",
        where.values,
    )


def points(metric: str, filters: Filters, request: str, device: str | None) -> Query:
    """The figure in every run of one request on one device, in the order of time."""
    where = conditions(filters)
    return Query(
        f"SELECT id, created_at, {metric} FROM runs WHERE request = ? AND device IS ? AND {metric} IS NOT NULL "
        f"AND {where.sql} ORDER BY created_at, id",
        (request, device, *where.values),
    )


def moment(time: datetime) -> str:
    """Of one form and one zone, so that the order of the texts is that of time."""
    return time.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def storable(text: str) -> str:
    """The text as SQLite can hold it: names from a file system can have halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode()
