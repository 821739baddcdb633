"""The tables that a trace can be seen as, for a console of any width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.columns import Column
from diffprof.render.numbers import exact, milliseconds, percent
from diffprof.traces.facts import TraceReport
from diffprof.traces.views.names import CAUSES, place, short

BAR = 16


class By(str, Enum):
    """What the rows of the table are."""

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


# What a table without rows says.
NOTHING = {
    By.timeline: "no work on a GPU",
    By.cause: "the GPU was never idle between its first and last work",
    By.gap: "no gap as long as the threshold",
    By.kind: "no work on a GPU",
    By.kernel: "no work on a GPU",
    By.attention: "no attention on a GPU",
    By.section: "nothing is annotated (torch.profiler.record_function)",
    By.step: "no steps are marked (ProfilerStep, a section named step, or a scheduler's step in stacks)",
    By.copy: "nothing was copied",
    By.memory: "memory was not recorded (profile_memory=True)",
    By.op: "no operator of the host was recorded",
}


def timeline(report: TraceReport, ascii_only: bool) -> list[Column]:
    """Where the time of each device went; the parts add up to the total."""
    rows = []
    for line in report.timelines:
        device = f"GPU {line.device}" if len(report.timelines) > 1 else ""
        parts = {
            "computation": line.computation_ns,
            "communication, exposed": line.exposed_communication_ns,
            "copies, exposed": line.exposed_copy_ns,
            "idle": line.idle_ns,
        }
        shown = {name: time for name, time in parts.items() if time or name in ("computation", "idle")}
        rows += [(device, name, time, line.total_ns) for name, time in shown.items()]
        rows.append((device, "total", line.total_ns, line.total_ns))
    columns = [
        Column("time line", [row[1] for row in rows], justify="left"),
        Column("time", [milliseconds(row[2]) for row in rows]),
        _shares([row[2] / row[3] for row in rows], ascii_only),
    ]
    return (
        [Column("device", [row[0] for row in rows], justify="left"), *columns] if len(report.timelines) > 1 else columns
    )


def causes(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.causes
    return [
        Column("idle for", [milliseconds(row.idle_ns) for row in rows]),
        _shares([row.idle_ns / report.idle_ns for row in rows], ascii_only, rank=2),
        Column("gaps", [exact(row.gaps) for row in rows]),
        Column("longest", [milliseconds(row.longest_ns) for row in rows], rank=1),
        Column("because", [CAUSES[row.cause] for row in rows], justify="left"),
        Column("of", [_blamed(row) for row in rows], justify="left", least=28),
    ]


def gaps(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.gaps
    return [
        Column("at", [milliseconds(row.start_ns) for row in rows]),
        Column("idle for", [milliseconds(row.length_ns) for row in rows]),
        Column("because", [CAUSES[row.cause] for row in rows], justify="left"),
        Column("of", [_blamed(row) for row in rows], justify="left", least=28),
        Column("before", [short(row.after) for row in rows], justify="left", least=16, cut=True, rank=1),
    ]


def kinds(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.kinds
    return [
        Column("kind of work", [row.kind for row in rows], justify="left"),
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        _shares([row.gpu_ns / report.gpu_ns for row in rows], ascii_only),
        Column("kernels", [exact(row.count) for row in rows]),
    ]


def kernels(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.kernels
    return [
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        Column("share", [percent(row.gpu_ns / report.gpu_ns) for row in rows]),
        Column("count", [exact(row.count) for row in rows]),
        Column("longest", [milliseconds(row.longest_ns) for row in rows], rank=1),
        Column("kind", [row.kind for row in rows], justify="left"),
        Column("kernel", [short(row.name) for row in rows], justify="left", least=24, cut=True),
    ]


def attention(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.attention
    return [
        Column("attention", [row.backend for row in rows], justify="left"),
        Column("GPU time", [milliseconds(row.gpu_ns) for row in rows]),
        Column("of GPU work", [percent(row.gpu_ns / report.gpu_ns) for row in rows]),
        Column("calls", [exact(row.calls) for row in rows]),
        Column("kernels", [exact(row.kernels) for row in rows], rank=1),
        Column("inputs", [clean(" ".join((row.shapes, row.dtype))) for row in rows], justify="left", least=20),
        *_where_any("fast one that could run", [row.fast for row in rows]),
    ]


def sections(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.sections
    on_host = [
        Column("section", [short(row.name) for row in rows], justify="left", least=20, cut=True),
        Column("calls", [exact(row.calls) for row in rows]),
        Column("host time", [milliseconds(row.host_ns) for row in rows]),
    ]
    if not report.timelines:
        return on_host
    return [
        *on_host,
        Column("GPU busy", [milliseconds(row.gpu_busy_ns) for row in rows]),
        Column("GPU idle", [milliseconds(row.idle_ns) for row in rows]),
        Column("kernels", [exact(row.kernels) for row in rows], rank=1),
        Column("per call", [_from_to(row.fewest_kernels, row.most_kernels) for row in rows], rank=1),
    ]


def steps(report: TraceReport, ascii_only: bool) -> list[Column]:
    found = report.steps
    if found is None:
        return [Column("step", [])]
    columns = [
        Column("step", [exact(number + 1) for number in range(len(found.kernels))]),
        Column("host time", list(map(milliseconds, found.host_ns))),
    ]
    if report.timelines:
        columns.append(Column("GPU busy", list(map(milliseconds, found.gpu_busy_ns))))
        columns.append(Column("kernels", list(map(exact, found.kernels))))
    if found.allocated_bytes:
        columns.append(Column("memory held", list(map(numbers.gigabytes, found.allocated_bytes))))
    return columns


def copies(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.copies
    return [
        Column("copies", [row.direction for row in rows], justify="left"),
        Column("memory", [row.memory or "not told" for row in rows], justify="left"),
        Column("count", [exact(row.count) for row in rows]),
        Column("bytes", ["?" if row.size_bytes is None else numbers.gigabytes(row.size_bytes) for row in rows]),
        Column("time", [milliseconds(row.duration_ns) for row in rows]),
        Column("exposed", [milliseconds(row.exposed_ns) for row in rows]),
        Column("rate", [_rate(row.bytes_per_second) for row in rows]),
    ]


def memory(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.memory
    curves = [numbers.sparkline([point[1] for point in row.samples], 2 * BAR, ascii_only) for row in rows]
    return [
        Column("memory", [row.device for row in rows], justify="left"),
        Column("peak held", [numbers.gigabytes(row.peak_allocated_bytes) for row in rows]),
        Column("peak reserved", [numbers.gigabytes(row.peak_reserved_bytes) for row in rows]),
        Column("at the end", [numbers.gigabytes(row.last_allocated_bytes) for row in rows]),
        Column("changes", [exact(row.changes) for row in rows], rank=1),
        Column("over time", curves, justify="left", rank=2),
    ]


def ops(report: TraceReport, ascii_only: bool) -> list[Column]:
    rows = report.host_ops
    return [
        Column("operator on the host", [clean(row.name) for row in rows], justify="left", least=24, cut=True),
        Column("kind", [row.kind for row in rows], justify="left", rank=1),
        Column("own time", [milliseconds(row.self_ns) for row in rows]),
        Column("with its calls", [milliseconds(row.total_ns) for row in rows], rank=1),
        Column("calls", [exact(row.calls) for row in rows]),
    ]


VIEWS: dict[By, Callable[[TraceReport, bool], list[Column]]] = {
    By.timeline: timeline,
    By.cause: causes,
    By.gap: gaps,
    By.kind: kinds,
    By.kernel: kernels,
    By.attention: attention,
    By.section: sections,
    By.step: steps,
    By.copy: copies,
    By.memory: memory,
    By.op: ops,
}


# The rows that each view shows. A time line and the few kinds of work are always whole: their shares add up.
_FIELDS = {
    By.cause: "causes",
    By.gap: "gaps",
    By.kernel: "kernels",
    By.attention: "attention",
    By.section: "sections",
    By.copy: "copies",
    By.memory: "memory",
    By.op: "host_ops",
}
_WHOLE = {By.timeline: "timelines", By.kind: "kinds"}


def row_count(report: TraceReport, by: By) -> int:
    """How many rows a view has."""
    if by is By.step:
        return len(report.steps.kernels) if report.steps else 0
    return len(getattr(report, _WHOLE.get(by) or _FIELDS[by]))


def view_of(report: TraceReport, by: By, top: int, ascii_only: bool) -> list[Column]:
    """The columns of a view with its first `top` rows: there may be thousands that nobody looks at."""
    if by in _FIELDS:
        rows = getattr(report, _FIELDS[by])
        if by is By.gap:
            rows = sorted(rows, key=lambda gap: -gap.length_ns)
        shown: dict[str, Any] = {_FIELDS[by]: tuple(rows[:top])}
        report = replace(report, **shown)
    return VIEWS[by](report, ascii_only)


def _blamed(row: Any) -> str:
    """What a gap is laid to, and where it is."""
    if not row.what and not row.where:
        return ""
    where = f" in {place(row.where)}" if row.where else ""
    mostly = getattr(row, "mostly", "")
    if mostly and row.mostly_share >= 0.5:
        where += f", {percent(row.mostly_share)} in {short(mostly)}"
    return f"{short(row.what)}{where}"


def _shares(shares: Sequence[float], ascii_only: bool, rank: int = 0) -> Column:
    cells = [f"{percent(share):>7}  {numbers.bar(share, BAR, ascii_only)}" for share in shares]
    return Column("  share", cells, justify="left", rank=rank, style="cyan")


def _where_any(heading: str, cells: list[str]) -> list[Column]:
    return [Column(heading, cells, justify="left", least=16)] if any(cells) else []


def _from_to(fewest: int, most: int) -> str:
    return exact(most) if fewest == most else f"{exact(fewest)} to {exact(most)}"


def _rate(rate: float | None) -> str:
    return "?" if rate is None else f"{numbers.gigabytes(round(rate))}/s"
