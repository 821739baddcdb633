"""The tables of a measured run by device and by rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from diffprof.breakdown.devices import DeviceRow, device_table
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.numbers import nanoseconds

UNKNOWN = "-"


def device_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """Memory, use and power of each device; columns without any known value are left out."""
    rows = device_table(profile)
    columns = [
        Column("device", [f"{row.device}\n{row.name}" for row in rows], justify="left", least=12),
        Column("ran", [", ".join(row.components) or UNKNOWN for row in rows], justify="left", rank=5),
        Column("allocated", _each(rows, lambda row: row.allocated_bytes, numbers.gigabytes)),
        Column("reserved", _each(rows, lambda row: row.reserved_bytes, numbers.gigabytes)),
        Column("reserved,\nnot used", _each(rows, lambda row: row.unused_bytes, numbers.gigabytes), rank=1),
        Column("busy", _each(rows, lambda row: row.busy_share, numbers.percent), rank=1),
        Column("power", _each(rows, lambda row: row.mean_watts, numbers.watts), rank=2),
        Column("energy\nper output", _each(rows, lambda row: row.joules_per_output, numbers.joules), rank=2),
        Column("clock", _each(rows, _clock, str), rank=3),
        Column("hottest", _each(rows, lambda row: row.highest_celsius, _celsius), rank=4),
        Column("clock\nlowered", _each(rows, _throttle_reasons, str), rank=3, justify="left"),
    ]
    return [column for column in columns if not rows or any(cell != UNKNOWN for cell in column.cells)]


def rank_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """The time, MACs, communication and memory of each component on each rank."""
    rows = profile.measured.ranks if profile.measured else ()
    columns = [
        Column("rank", [str(row.rank) for row in rows]),
        Column("part", [row.component or "generation" for row in rows], justify="left", least=12),
        Column("calls", [numbers.exact(row.calls) if row.component else "" for row in rows], rank=3),
        Column("time", [nanoseconds(row.median_ns) for row in rows]),
        Column("MACs", [_or_dash(row.macs, numbers.short) for row in rows]),
        Column("sent", [_or_dash(row.sent_bytes, numbers.gigabytes) for row in rows], rank=1),
        Column("received", [_or_dash(row.received_bytes, numbers.gigabytes) for row in rows], rank=1),
        Column("peak\nmemory", [_or_dash(row.peak_bytes, numbers.gigabytes) for row in rows], rank=2),
        Column("device", [row.device if not row.component else "" for row in rows], rank=4, justify="left"),
    ]
    return [column for column in columns if not rows or any(cell not in (UNKNOWN, "") for cell in column.cells)]


def _throttle_reasons(row: DeviceRow) -> str | None:
    if row.throttled_share is None:
        return None
    share = numbers.percent_of(row.throttled_share)
    return f"{share} by {' and '.join(row.throttle_reasons)}" if row.throttled_share else "never"


def _clock(row: DeviceRow) -> str | None:
    if row.lowest_mhz is None or row.highest_mhz is None:
        return None
    low, high = (numbers.exact(round(one)) for one in (row.lowest_mhz, row.highest_mhz))
    return f"{low} MHz" if low == high else f"{low} to {high} MHz"


def _celsius(temperature: float) -> str:
    return f"{numbers.exact(round(temperature))} °C"


def _each(
    rows: Sequence[DeviceRow], value: Callable[[DeviceRow], Any], format_value: Callable[[Any], str]
) -> list[str]:
    return [_or_dash(value(row), format_value) for row in rows]


def _or_dash(value: Any, format_value: Callable[[Any], str]) -> str:
    return UNKNOWN if value is None else format_value(value)
