"""The tables of one trace, for a console of any width and for the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.columns import Column
from diffprof.render.numbers import exact, milliseconds, percent
from diffprof.traces.facts import IdleCause, TraceExplanation
from diffprof.traces.views.names import CAUSES, alternative_name, short, short_path

BAR = 16

# The keys of the columns that the page arranges differently.
CAUSE, LOCATION, KERNEL, CURVE = "cause", "location", "kernel", "curve"


class TraceBy(str, Enum):
    """Tables of a trace, named after their rows."""

    timeline = "timeline"
    cause = "cause"
    gap = "gap"
    kind = "kind"
    kernel = "kernel"
    attention = "attention"
    section = "section"
    step = "step"
    copy = "copy"
    memory = "memory"
    op = "op"
    check = "check"


# The text that is shown in place of an empty table.
EMPTY_TABLE = {
    TraceBy.timeline: "no GPU work",
    TraceBy.cause: "the GPU was never idle between its first and its last work",
    TraceBy.gap: "no gap reaches the threshold (--gap)",
    TraceBy.kind: "no GPU work",
    TraceBy.kernel: "no GPU work",
    TraceBy.attention: "no attention on the GPU",
    TraceBy.section: "nothing is annotated (torch.profiler.record_function)",
    TraceBy.step: "no steps are marked (ProfilerStep, a section named step, or a scheduler's step in stacks)",
    TraceBy.copy: "nothing was copied",
    TraceBy.memory: "memory was not recorded (profile_memory=True)",
    TraceBy.op: "no operator was recorded on the host",
}


def _timeline(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    """Where the time of each device went; the parts add up to the total."""
    rows = []
    for line in explanation.timelines:
        device = f"GPU {line.device}" if len(explanation.timelines) > 1 else ""
        parts = {
            "computation": line.computation_ns,
            "communication, exposed": line.exposed_communication_ns,
            "copies, exposed": line.exposed_copy_ns,
            "idle": line.idle_ns,
        }
        relevant = {name: time for name, time in parts.items() if time or name in ("computation", "idle")}
        rows += [(device, name, time, line.total_ns) for name, time in relevant.items()]
        rows.append((device, "total", line.total_ns, line.total_ns))
    columns = [
        Column("timeline", [row[1] for row in rows], justify="left"),
        Column("time", [milliseconds(row[2]) for row in rows]),
        _shares([row[2] / row[3] for row in rows], ascii_only),
    ]
    return (
        [Column("device", [row[0] for row in rows], justify="left"), *columns]
        if len(explanation.timelines) > 1
        else columns
    )


def _causes(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.causes
    return [
        Column("idle for", [milliseconds(row.idle_ns) for row in rows]),
        _shares([row.idle_ns / explanation.idle_ns for row in rows], ascii_only, rank=2),
        Column("gaps", [exact(row.gaps) for row in rows]),
        Column("longest", [milliseconds(row.longest_ns) for row in rows], rank=1),
        Column("cause", [CAUSES[row.cause] for row in rows], justify="left", key=CAUSE),
        Column("in", [_location(row) for row in rows], justify="left", least=28, key=LOCATION),
    ]


def grouped_causes(explanation: TraceExplanation) -> list[Column]:
    """One row for each cause, without its places, which are in the table of causes."""
    groups: dict[str, list[IdleCause]] = {}
    for row in explanation.causes:
        groups.setdefault(row.cause, []).append(row)
    idle = {cause: sum(row.idle_ns for row in rows) for cause, rows in groups.items()}
    causes = sorted(groups, key=lambda cause: -idle[cause])
    return [
        Column("cause", [CAUSES[cause] for cause in causes], justify="left"),
        Column("idle for", [milliseconds(idle[cause]) for cause in causes]),
        _shares([idle[cause] / explanation.idle_ns for cause in causes], ascii_only=False),
        Column("gaps", [exact(sum(row.gaps for row in groups[cause])) for cause in causes]),
        Column("longest", [milliseconds(max(row.longest_ns for row in groups[cause])) for cause in causes]),
        Column("places", [exact(len(groups[cause])) for cause in causes]),
    ]


def _gaps(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.gaps
    return [
        Column("at", [milliseconds(row.start_ns) for row in rows]),
        Column("idle for", [milliseconds(row.length_ns) for row in rows]),
        Column("cause", [CAUSES[row.cause] for row in rows], justify="left", key=CAUSE),
        Column("in", [_location(row) for row in rows], justify="left", least=28, key=LOCATION),
        Column("next work", [short(row.after) for row in rows], justify="left", least=16, cut=True, rank=1),
    ]


def _kinds(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.kinds
    return [
        Column("kind of work", [row.kind for row in rows], justify="left"),
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        _shares([row.gpu_ns / explanation.gpu_ns for row in rows], ascii_only),
        Column("kernels", [exact(row.count) for row in rows]),
    ]


def _kernels(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.kernels
    return [
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        Column(
            "share",
            [percent(row.gpu_ns / explanation.gpu_ns) for row in rows],
            shares=[row.gpu_ns / explanation.gpu_ns for row in rows],
        ),
        Column("count", [exact(row.count) for row in rows]),
        Column("longest", [milliseconds(row.longest_ns) for row in rows], rank=1),
        Column("kind", [row.kind for row in rows], justify="left"),
        Column("kernel", [short(row.name) for row in rows], justify="left", least=24, cut=True, key=KERNEL),
    ]


def _attention(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.attention
    return [
        Column("attention", [row.backend for row in rows], justify="left"),
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        Column("of GPU work", [percent(row.gpu_ns / explanation.gpu_ns) for row in rows]),
        Column("calls", [exact(row.calls) for row in rows]),
        Column("kernels", [exact(row.kernels) for row in rows], rank=1),
        Column("inputs", [clean(" ".join((row.shapes, row.dtype))) for row in rows], justify="left", least=20),
        *_unless_empty("fused alternative", [alternative_name(row.alternative) for row in rows]),
    ]


def _sections(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.sections
    on_host = [
        Column("section", [short(row.name) for row in rows], justify="left", least=20, cut=True),
        Column("calls", [exact(row.calls) for row in rows]),
        Column("host time", [milliseconds(row.host_ns) for row in rows]),
    ]
    if not explanation.timelines:
        return on_host
    return [
        *on_host,
        Column("GPU busy", [milliseconds(row.gpu_busy_ns) for row in rows]),
        Column("GPU idle", [milliseconds(row.idle_ns) for row in rows]),
        Column("kernels", [exact(row.kernels) for row in rows], rank=1),
        Column("per call", [_range(row.fewest_kernels, row.most_kernels) for row in rows], rank=1),
    ]


def _steps(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    steps = explanation.steps
    if steps is None:
        return [Column("step", [])]
    columns = [
        Column("step", [exact(number + 1) for number in range(len(steps.kernels))]),
        Column("host time", list(map(milliseconds, steps.host_ns))),
    ]
    if explanation.timelines:
        columns.append(Column("GPU busy", list(map(milliseconds, steps.gpu_busy_ns))))
        columns.append(Column("kernels", list(map(exact, steps.kernels))))
    if steps.allocated_bytes:
        columns.append(Column("allocated", list(map(numbers.gigabytes, steps.allocated_bytes))))
    return columns


def _copies(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.copies
    return [
        Column("copies", [row.direction for row in rows], justify="left"),
        Column("memory", [row.memory or "unknown" for row in rows], justify="left"),
        Column("count", [exact(row.count) for row in rows]),
        Column("bytes", ["?" if row.size_bytes is None else numbers.gigabytes(row.size_bytes) for row in rows]),
        Column("time", [milliseconds(row.duration_ns) for row in rows]),
        Column("exposed", [milliseconds(row.exposed_ns) for row in rows]),
        Column("rate", [_rate(row.bytes_per_second) for row in rows]),
    ]


def _memory(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.memory
    curves = [numbers.sparkline([point[1] for point in row.samples], 2 * BAR, ascii_only) for row in rows]
    return [
        Column("memory", [row.device for row in rows], justify="left"),
        Column("peak allocated", [numbers.gigabytes(row.peak_allocated_bytes) for row in rows]),
        Column("peak reserved", [numbers.gigabytes(row.peak_reserved_bytes) for row in rows]),
        Column("at the end", [numbers.gigabytes(row.last_allocated_bytes) for row in rows]),
        Column("changes", [exact(row.changes) for row in rows], rank=1),
        Column("over time", curves, justify="left", rank=2, key=CURVE),
    ]


def _ops(explanation: TraceExplanation, ascii_only: bool) -> list[Column]:
    rows = explanation.host_ops
    return [
        Column("operator on the host", [clean(row.name) for row in rows], justify="left", least=24, cut=True),
        Column("kind", [row.kind for row in rows], justify="left", rank=1),
        Column("self time", [milliseconds(row.self_ns) for row in rows]),
        Column("total time", [milliseconds(row.total_ns) for row in rows], rank=1),
        Column("calls", [exact(row.calls) for row in rows]),
    ]


TABLES: dict[TraceBy, Callable[[TraceExplanation, bool], list[Column]]] = {
    TraceBy.timeline: _timeline,
    TraceBy.cause: _causes,
    TraceBy.gap: _gaps,
    TraceBy.kind: _kinds,
    TraceBy.kernel: _kernels,
    TraceBy.attention: _attention,
    TraceBy.section: _sections,
    TraceBy.step: _steps,
    TraceBy.copy: _copies,
    TraceBy.memory: _memory,
    TraceBy.op: _ops,
}


# The rows of each table. A timeline and the few kinds of work are always complete: their shares add up.
_FIELDS = {
    TraceBy.cause: "causes",
    TraceBy.gap: "gaps",
    TraceBy.kernel: "kernels",
    TraceBy.attention: "attention",
    TraceBy.section: "sections",
    TraceBy.copy: "copies",
    TraceBy.memory: "memory",
    TraceBy.op: "host_ops",
}
_COMPLETE = {TraceBy.timeline: "timelines", TraceBy.kind: "kinds"}


def row_count(explanation: TraceExplanation, by: TraceBy) -> int:
    """How many rows a table has."""
    if by is TraceBy.step:
        return len(explanation.steps.kernels) if explanation.steps else 0
    return len(getattr(explanation, _COMPLETE.get(by) or _FIELDS[by]))


def table_columns(explanation: TraceExplanation, by: TraceBy, top: int, ascii_only: bool) -> list[Column]:
    """The columns of a table, with its first `top` rows."""
    if by in _FIELDS:
        rows = getattr(explanation, _FIELDS[by])
        if by is TraceBy.gap:
            rows = sorted(rows, key=lambda gap: -gap.length_ns)
        first: dict[str, Any] = {_FIELDS[by]: tuple(rows[:top])}
        explanation = replace(explanation, **first)
    return TABLES[by](explanation, ascii_only)


def _location(row: Any) -> str:
    """What caused a gap, and where it was called."""
    if not row.what and not row.where:
        return ""
    where = f" in {short_path(row.where)}" if row.where else ""
    mostly = getattr(row, "mostly", "")
    if mostly and row.mostly_share >= 0.5:
        where += f", {percent(row.mostly_share)} in {short(mostly)}"
    return f"{short(row.what)}{where}"


def _shares(shares: Sequence[float], ascii_only: bool, rank: int = 0) -> Column:
    cells = [f"{percent(share):>7}  {numbers.bar(share, BAR, ascii_only)}" for share in shares]
    return Column("  share", cells, justify="left", rank=rank, style="cyan", shares=shares)


def _unless_empty(heading: str, cells: list[str]) -> list[Column]:
    return [Column(heading, cells, justify="left", least=16)] if any(cells) else []


def _range(fewest: int, most: int) -> str:
    return exact(most) if fewest == most else f"{exact(fewest)} to {exact(most)}"


def _rate(rate: float | None) -> str:
    return "?" if rate is None else f"{numbers.gigabytes(round(rate))}/s"
