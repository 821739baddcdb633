"""What traces say, for programs: JSON with everything, CSV of one table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from diffprof.render.csv import table_csv
from diffprof.traces import facts as traces
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import TraceComparison
from diffprof.traces.analysis.ranks import RankComparison
from diffprof.traces.facts import TraceReport
from diffprof.traces.views.checks import Said, say
from diffprof.traces.views.tables import By

FORMAT_NAME = "diffprof-trace"

# 1: the first.
FORMAT_VERSION = 1

# What is worked out from the figures of a row, and told with them.
DERIVED = {
    traces.Timeline: ("idle_ns", "hidden_communication_ns", "hidden_copy_ns", "busy_share"),
    traces.Copies: ("bytes_per_second",),
    traces.SectionRow: ("idle_ns",),
}


def traces_json(
    reports: Sequence[TraceReport],
    ranks: RankComparison | None = None,
    comparison: TraceComparison | None = None,
) -> str:
    """Everything that was found: times in whole nanoseconds."""
    values: dict[str, Any] = {
        "format": {"name": FORMAT_NAME, "version": FORMAT_VERSION},
        "traces": [_report(report) for report in reports],
    }
    if ranks is not None:
        straggler = ranks.straggler
        values["ranks"] = {
            **dataclasses.asdict(ranks),
            "imbalance": ranks.imbalance,
            "straggler": None if straggler is None else straggler.rank,
        }
    if comparison is not None:
        values["comparison"] = _comparison(comparison)
    return json.dumps(values, indent=1) + "\n"


def traces_csv(reports: Sequence[TraceReport], by: By) -> str:
    """One table of all traces; the first column says of which."""
    rows = [{"trace": report.source.path, **row} for report in reports for row in _rows(report, by)]
    return table_csv(["trace", *COLUMNS[by]], rows)


def comparison_csv(comparison: TraceComparison) -> str:
    """All changes, each with the table that it is of."""
    columns = ("table", "name", "before_ns", "after_ns", "difference_ns", "ratio", "before_calls", "after_calls")
    rows = [
        {"table": table, **dataclasses.asdict(row), "difference_ns": row.difference_ns, "ratio": row.ratio}
        for table in CHANGES
        for row in getattr(comparison, table)
    ]
    return table_csv(columns, rows)


CHANGES = ("timeline", "kinds", "causes", "attention", "kernels", "appeared", "gone")


def _report(report: TraceReport) -> dict[str, Any]:
    values = {field.name: _value(getattr(report, field.name)) for field in dataclasses.fields(report)}
    values["checks"] = [
        {
            **dataclasses.asdict(check),
            **dataclasses.asdict(say(check)),
            "verdict": check.verdict,
            "figures": check.evidence,
        }
        for check in checklist(report)
    ]
    return values


def _comparison(comparison: TraceComparison) -> dict[str, Any]:
    values: dict[str, Any] = {
        "before": comparison.before.source.path,
        "after": comparison.after.source.path,
        "differences": comparison.differences,
    }
    for table in CHANGES:
        rows = getattr(comparison, table)
        values[table] = [{**dataclasses.asdict(row), "difference_ns": row.difference_ns} for row in rows]
    return values


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return _plain(value) if dataclasses.is_dataclass(value) else value


def _plain(row: Any) -> dict[str, Any]:
    own = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    return own | {name: getattr(row, name) for name in DERIVED.get(type(row), ())}


def _columns(row_type: type) -> tuple[str, ...]:
    return (*(field.name for field in dataclasses.fields(row_type)), *DERIVED.get(row_type, ()))


STEP_COLUMNS = ("step", "kernels", "host_ns", "gpu_busy_ns", "allocated_bytes")
MEMORY_COLUMNS = ("device", "time_ns", "allocated_bytes", "reserved_bytes")

COLUMNS: dict[By, tuple[str, ...]] = {
    By.timeline: _columns(traces.Timeline),
    By.cause: _columns(traces.IdleCause),
    By.gap: _columns(traces.Gap),
    By.kind: _columns(traces.KindRow),
    By.kernel: _columns(traces.KernelRow),
    By.attention: _columns(traces.AttentionRow),
    By.section: _columns(traces.SectionRow),
    By.copy: _columns(traces.Copies),
    By.op: _columns(traces.HostOp),
    By.check: ("name", "share", *(field.name for field in dataclasses.fields(Said))),
    By.step: STEP_COLUMNS,
    By.memory: MEMORY_COLUMNS,
}


def _rows(report: TraceReport, by: By) -> list[dict[str, Any]]:
    if by is By.check:
        return [{"name": check.name, "share": check.share, **vars(say(check))} for check in checklist(report)]
    if by is By.step:
        return _step_rows(report)
    if by is By.memory:
        return [
            dict(zip(MEMORY_COLUMNS, (use.device, *point), strict=True))
            for use in report.memory
            for point in use.samples
        ]
    tables: dict[By, tuple[Any, ...]] = {
        By.timeline: report.timelines,
        By.cause: report.causes,
        By.gap: report.gaps,
        By.kind: report.kinds,
        By.kernel: report.kernels,
        By.attention: report.attention,
        By.section: report.sections,
        By.copy: report.copies,
        By.op: report.host_ops,
    }
    return [_plain(row) for row in tables[by]]


def _step_rows(report: TraceReport) -> list[dict[str, Any]]:
    steps = report.steps
    if steps is None:
        return []
    held: Sequence[int | None] = steps.allocated_bytes or [None] * len(steps.kernels)
    figures = zip(steps.kernels, steps.host_ns, steps.gpu_busy_ns, held, strict=True)
    return [dict(zip(STEP_COLUMNS, (number, *row), strict=True)) for number, row in enumerate(figures, 1)]
