"""A comparison as JSON, or one of its tables as CSV."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from diffprof.comparison.compare import Comparison, Pair
from diffprof.comparison.conditions import Condition, comparable, device_differences, request_differences
from diffprof.comparison.counts import METRICS, CountChange
from diffprof.comparison.overview import OverviewRow, overview
from diffprof.comparison.parts import CALL, MODULE, OPERATION, PartChange, Tally
from diffprof.comparison.times import TimeChange, Times
from diffprof.render.csv import table_csv
from diffprof.render.warnings import profile_warnings

FORMAT_NAME = "diffprof-comparison"

# 1: the first version; docs/comparison.schema.json describes it.
FORMAT_VERSION = 1


class ComparisonBy(str, Enum):
    """Tables of a comparison, named after their rows."""

    profile = "profile"
    condition = "condition"
    total = "total"
    component = "component"
    call = "call"
    operation = "operation"
    module = "module"
    time = "time"


def comparison_json(comparison: Comparison) -> str:
    """The whole comparison as JSON, with exact integers, and times in nanoseconds."""
    rows = zip(overview(comparison.profiles, comparison.names), comparison.profiles, strict=True)
    values = {
        "format": {"name": FORMAT_NAME, "version": FORMAT_VERSION},
        "profiles": [{**_profile(row), "warnings": profile_warnings(profile)} for row, profile in rows],
        "conditions": [dataclasses.asdict(condition) for condition in comparison.conditions],
        "same_request": not request_differences(comparison.conditions),
        "same_device": not device_differences(comparison.conditions),
        "comparable": vars(comparable(comparison.profiles, comparison.conditions)),
        "pairs": [pair_values(pair, *names) for names, pair in _named_pairs(comparison)],
        "pictures": [dataclasses.asdict(difference) for difference in comparison.images],
    }
    return json.dumps(values, indent=1, allow_nan=False) + "\n"


def pair_values(pair: Pair, before: str, after: str) -> dict[str, Any]:
    """The changes between two profiles as plain values."""
    return {
        "before": before,
        "after": after,
        "conditions": [dataclasses.asdict(condition) for condition in pair.conditions],
        "totals": [count_values(figure) for figure in pair.totals],
        "components": [
            {**vars(change), "figures": [count_values(figure) for figure in change.figures]}
            for change in pair.components
        ],
        "parts": [_part(change) for change in pair.parts],
        "times": [time_values(change) for change in pair.times],
        "predictions": [dataclasses.asdict(change) for change in pair.predictions],
        "memory": None
        if pair.memory is None
        else {**count_values(pair.memory.peak), "on_device": pair.memory.on_device},
    }


def count_values(figure: CountChange) -> dict[str, Any]:
    return {**vars(figure), "difference": figure.difference, "ratio": figure.ratio}


def time_values(change: TimeChange) -> dict[str, Any]:
    return dataclasses.asdict(change)


def _profile(row: OverviewRow) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in ("name", "model", "pipeline")},
        "figures": dict(row.figures),
        "component_macs": dict(row.components),
        "call": dataclasses.asdict(row.call) if row.call else None,
    }


def _part(change: PartChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "component": change.component,
        "name": change.name,
        "change": change.change,
        "before": _tally(change.before),
        "after": _tally(change.after),
    }


def _tally(tally: Tally | None) -> dict[str, Any] | None:
    if tally is None:
        return None
    return {"class_name": tally.class_name, "parameters": tally.parameters, "count": tally.count, **vars(tally.work)}


def comparison_csv(comparison: Comparison, by: ComparisonBy = ComparisonBy.profile) -> str:
    """One table as CSV: of the profiles, or of all pairs, with both names in each row."""
    if by is ComparisonBy.profile:
        both = zip(overview(comparison.profiles, comparison.names), comparison.profiles, strict=True)
        rows = [{**_profile_row(row), "warnings": "; ".join(profile_warnings(one))} for row, one in both]
        return table_csv(PROFILE_COLUMNS, rows)
    if by is ComparisonBy.condition:
        rows = [_condition(condition) for condition in comparison.conditions]
        return table_csv(("group", "name", *_value_columns(comparison.names)), rows)
    return table_csv(
        ("before", "after", *COLUMNS[by]),
        [
            {"before": before, "after": after, **row}
            for (before, after), pair in _named_pairs(comparison)
            for row in _rows(pair, by)
        ],
    )


_FIGURE = ("before_value", "after_value", "difference", "ratio")
_TALLIES = ("class_name", "parameters", "count", "macs", "other_flops", "read_bytes", "written_bytes")
_PART = ("component", "name", "change", *(f"{side}_{name}" for side in ("before", "after") for name in _TALLIES))
_SIDE = ("count", "median_ns", "outliers")
PROFILE_COLUMNS = (
    *("name", "model", "pipeline", *METRICS),
    *("iterations", "call_median_ns", "call_min_ns", "call_max_ns", "warnings"),
)
COLUMNS: Mapping[ComparisonBy, Sequence[str]] = {
    ComparisonBy.total: ("figure", *_FIGURE),
    ComparisonBy.component: ("component", "change", "before_class", "after_class", "figure", *_FIGURE),
    ComparisonBy.call: _PART,
    ComparisonBy.operation: _PART,
    ComparisonBy.module: _PART,
    ComparisonBy.time: (
        *("name", "clock", "in_turns", "verdict", "ratio", "low", "high", "p_value"),
        *(f"{side}_{name}" for side in ("before", "after") for name in _SIDE),
    ),
}
_KINDS = {ComparisonBy.call: CALL, ComparisonBy.operation: OPERATION, ComparisonBy.module: MODULE}


def _rows(pair: Pair, by: ComparisonBy) -> Iterable[Mapping[str, Any]]:
    if by is ComparisonBy.total:
        return [_figure(figure) for figure in pair.totals]
    if by is ComparisonBy.component:
        return [{**vars(change), **_figure(figure)} for change in pair.components for figure in change.figures]
    if by is ComparisonBy.time:
        return [_time(change) for change in pair.times]
    return [_part_row(change) for change in pair.parts if change.kind == _KINDS[by]]


def _figure(figure: CountChange) -> dict[str, Any]:
    return {
        "figure": figure.name,
        "before_value": figure.before,
        "after_value": figure.after,
        "difference": figure.difference,
        "ratio": figure.ratio,
    }


def _part_row(change: PartChange) -> dict[str, Any]:
    row: dict[str, Any] = {"component": change.component, "name": change.name, "change": change.change}
    for side, tally in (("before", change.before), ("after", change.after)):
        values = _tally(tally) or {}
        row |= {f"{side}_{name}": values.get(name) for name in _TALLIES}
    return row


def _time(change: TimeChange) -> dict[str, Any]:
    row = {name: getattr(change, name) for name in ("name", "clock", "in_turns", "verdict")}
    row |= {name: getattr(change.ratio, name, None) for name in ("ratio", "low", "high", "p_value")}
    return row | _side("before", change.before) | _side("after", change.after)


def _side(side: str, times: Times | None) -> dict[str, Any]:
    if times is None:
        return {f"{side}_{name}": None for name in _SIDE}
    outliers = tuple(outlier.iteration for outlier in times.outliers)
    return {f"{side}_count": times.count, f"{side}_median_ns": times.median_ns, f"{side}_outliers": outliers}


def _condition(condition: Condition) -> dict[str, Any]:
    values = [value if isinstance(value, str) else json.dumps(value) for value in condition.values]
    return {"group": condition.group, "name": condition.name, **dict(zip(_value_columns(values), values, strict=True))}


def _value_columns(values: Sequence[str]) -> list[str]:
    """A column for the value of each profile."""
    return [f"profile_{number}" for number in range(1, len(values) + 1)]


def _profile_row(row: OverviewRow) -> dict[str, Any]:
    call = row.call
    return {
        **{name: getattr(row, name) for name in ("name", "model", "pipeline")},
        **row.figures,
        "iterations": call.count if call else None,
        "call_median_ns": call.median_ns if call else None,
        "call_min_ns": call.min_ns if call else None,
        "call_max_ns": call.max_ns if call else None,
    }


def _named_pairs(comparison: Comparison) -> list[tuple[tuple[str, str], Pair]]:
    first, *others = comparison.names
    return [((first, other), pair) for other, pair in zip(others, comparison.pairs, strict=True)]
