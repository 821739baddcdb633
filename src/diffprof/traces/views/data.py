"""Explained traces as JSON, or one of their tables as CSV."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from diffprof.render.csv import table_csv
from diffprof.traces import facts
from diffprof.traces.analysis.checklist import checklist
from diffprof.traces.analysis.comparison import TraceComparison
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.result import TraceResult
from diffprof.traces.views.checklist import CheckText, describe_check
from diffprof.traces.views.names import alternative_name
from diffprof.traces.views.sentences import describe_difference, source_notes
from diffprof.traces.views.tables import TraceBy

FORMAT_NAME = "diffprof-trace"

# 1: the first version.
FORMAT_VERSION = 1

# Properties of a row that are written in addition to its fields.
DERIVED = {
    facts.Timeline: ("idle_ns", "hidden_communication_ns", "hidden_copy_ns", "busy_share"),
    facts.Copies: ("bytes_per_second",),
    facts.TraceSection: ("idle_ns",),
}


STEP_COLUMNS = ("step", "kernels", "host_ns", "gpu_busy_ns", "allocated_bytes")
MEMORY_COLUMNS = ("device", "time_ns", "allocated_bytes", "reserved_bytes")
CHANGE_TABLES = ("timeline", "kinds", "causes", "attention", "kernels", "appeared", "gone")
CHANGE_COLUMNS = ("table", "name", "before_ns", "after_ns", "difference_ns", "ratio", "before_calls", "after_calls")

# A fused alternative is written as the text that people read, under this name.
ALTERNATIVE = "fast"


def result_json(result: TraceResult) -> str:
    """The whole result as JSON, with times in integer nanoseconds."""
    comparison, ranks = result.comparison, result.ranks
    explanations = (comparison.before, comparison.after) if comparison else result.explanations
    values: dict[str, Any] = {
        "format": {"name": FORMAT_NAME, "version": FORMAT_VERSION},
        "traces": [_explanation(explanation) for explanation in explanations],
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


def result_csv(result: TraceResult, by: TraceBy) -> str:
    """One table of all traces as CSV, with a first column that names the trace; or all changes between two."""
    if result.comparison is not None:
        return _changes_csv(result.comparison)
    rows = [
        {"trace": explanation.source.path, **row}
        for explanation in result.explanations
        for row in _rows(explanation, by)
    ]
    return table_csv(["trace", *COLUMNS[by]], rows)


def _changes_csv(comparison: TraceComparison) -> str:
    rows = [
        {"table": table, **dataclasses.asdict(row), "difference_ns": row.difference_ns, "ratio": row.ratio}
        for table in CHANGE_TABLES
        for row in getattr(comparison, table)
    ]
    return table_csv(CHANGE_COLUMNS, rows)


def _explanation(explanation: TraceExplanation) -> dict[str, Any]:
    values = _fields_of(explanation)
    values["source"]["notes"] = source_notes(explanation.source)
    values["checks"] = [
        {
            "name": check.name,
            "share": check.share,
            **dataclasses.asdict(describe_check(check)),
            "verdict": check.verdict,
            "figures": _rename_alternative(dict(check.evidence)),
        }
        for check in checklist(explanation)
    ]
    return values


def _comparison(comparison: TraceComparison) -> dict[str, Any]:
    values: dict[str, Any] = {
        "before": comparison.before.source.path,
        "after": comparison.after.source.path,
        "differences": list(map(describe_difference, comparison.differences)),
    }
    for table in CHANGE_TABLES:
        rows = getattr(comparison, table)
        values[table] = [{**dataclasses.asdict(row), "difference_ns": row.difference_ns} for row in rows]
    return values


def _fields_of(record: Any) -> dict[str, Any]:
    """The fields and derived properties of a record as plain values."""
    names = (*(field.name for field in dataclasses.fields(record)), *DERIVED.get(type(record), ()))
    return _rename_alternative({name: _plain_value(getattr(record, name)) for name in names})


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, facts.FusedAlternative):
        return _fields_of(value)
    return value


def _rename_alternative(values: dict[str, Any]) -> dict[str, Any]:
    return {
        ALTERNATIVE if name == "alternative" else name: alternative_name(value) if name == "alternative" else value
        for name, value in values.items()
    }


def _columns(row_type: type) -> tuple[str, ...]:
    names = (*(field.name for field in dataclasses.fields(row_type)), *DERIVED.get(row_type, ()))
    return tuple(_rename_alternative(dict.fromkeys(names)))


COLUMNS: dict[TraceBy, tuple[str, ...]] = {
    TraceBy.timeline: _columns(facts.Timeline),
    TraceBy.cause: _columns(facts.IdleCause),
    TraceBy.gap: _columns(facts.Gap),
    TraceBy.kind: _columns(facts.WorkKind),
    TraceBy.kernel: _columns(facts.KernelRow),
    TraceBy.attention: _columns(facts.TraceAttention),
    TraceBy.section: _columns(facts.TraceSection),
    TraceBy.copy: _columns(facts.Copies),
    TraceBy.op: _columns(facts.HostOp),
    TraceBy.check: ("name", "share", *(field.name for field in dataclasses.fields(CheckText))),
    TraceBy.step: STEP_COLUMNS,
    TraceBy.memory: MEMORY_COLUMNS,
}


def _rows(explanation: TraceExplanation, by: TraceBy) -> list[dict[str, Any]]:
    if by is TraceBy.check:
        return [
            {"name": check.name, "share": check.share, **vars(describe_check(check))}
            for check in checklist(explanation)
        ]
    if by is TraceBy.step:
        return _step_rows(explanation)
    if by is TraceBy.memory:
        return [
            dict(zip(MEMORY_COLUMNS, (use.device, *point), strict=True))
            for use in explanation.memory
            for point in use.samples
        ]
    tables: dict[TraceBy, tuple[Any, ...]] = {
        TraceBy.timeline: explanation.timelines,
        TraceBy.cause: explanation.causes,
        TraceBy.gap: explanation.gaps,
        TraceBy.kind: explanation.kinds,
        TraceBy.kernel: explanation.kernels,
        TraceBy.attention: explanation.attention,
        TraceBy.section: explanation.sections,
        TraceBy.copy: explanation.copies,
        TraceBy.op: explanation.host_ops,
    }
    return [_fields_of(row) for row in tables[by]]


def _step_rows(explanation: TraceExplanation) -> list[dict[str, Any]]:
    steps = explanation.steps
    if steps is None:
        return []
    held: Sequence[int | None] = steps.allocated_bytes or [None] * len(steps.kernels)
    rows = zip(steps.kernels, steps.host_ns, steps.gpu_busy_ns, held, strict=True)
    return [dict(zip(STEP_COLUMNS, (number, *row), strict=True)) for number, row in enumerate(rows, 1)]
