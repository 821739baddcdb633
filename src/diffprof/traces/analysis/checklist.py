"""The questions that people ask of a trace, each answered by a figure against a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof.traces.facts import HOST, LAUNCH, SLOW_ATTENTION, SYNCHRONISATION, IdleCause, TraceReport

GOOD, LOOK, BAD = "good", "look", "bad"
UNKNOWN = "unknown"
"""The trace does not tell."""
NOT_THERE = "none"
"""There was nothing of the kind to look at."""


@dataclass(frozen=True)
class Limit:
    """Up to where a share is good, and from where it is bad; between, it is worth a look."""

    good: float
    bad: float

    @property
    def more_is_better(self) -> bool:
        return self.good > self.bad

    def verdict(self, share: float) -> str:
        if self.more_is_better:
            return GOOD if share >= self.good else BAD if share < self.bad else LOOK
        return GOOD if share <= self.good else BAD if share > self.bad else LOOK


LIMITS = {
    "gpu_busy": Limit(0.90, 0.70),
    "host_blocking": Limit(0.02, 0.10),
    "host_keeps_up": Limit(0.05, 0.20),
    "launch_latency": Limit(0.10, 0.50),
    "scheduler": Limit(0.02, 0.10),
    "compiled": Limit(0.90, 0.70),
    "attention": Limit(0.05, 0.25),
    "copies": Limit(0.02, 0.10),
    "communication": Limit(0.10, 0.25),
    "memory": Limit(0.01, 0.05),
}

# Steps at the beginning that may hold more or less than those after them.
FIRST_STEPS = 1


@dataclass(frozen=True)
class Check:
    """One question and what the trace answers."""

    name: str
    verdict: str
    share: float | None = None
    """What is compared with the limit."""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> Limit:
        return LIMITS[self.name]


def checklist(report: TraceReport) -> tuple[Check, ...]:
    """All questions, in the order of `LIMITS`."""
    if not report.timelines:
        return tuple(Check(name, UNKNOWN, evidence={"gpu_work": False}) for name in LIMITS)
    answers = {
        "gpu_busy": _busy(report),
        "host_blocking": _lost(report, "host_blocking", (SYNCHRONISATION,)),
        "host_keeps_up": _lost(report, "host_keeps_up", (HOST, LAUNCH)),
        "launch_latency": _launch_latency(report),
        "scheduler": _scheduler(report),
        "compiled": _compiled(report),
        "attention": _attention(report),
        "copies": _copies(report),
        "communication": _communication(report),
        "memory": _memory(report),
    }
    return tuple(answers[name] for name in LIMITS)


def _judged(name: str, share: float, **evidence: Any) -> Check:
    return Check(name, LIMITS[name].verdict(share), share, evidence)


def _busy(report: TraceReport) -> Check:
    busy = sum(line.busy_ns for line in report.timelines)
    return _judged("gpu_busy", busy / report.total_ns, busy_ns=busy, total_ns=report.total_ns, idle_ns=report.idle_ns)


def _lost(report: TraceReport, name: str, causes: tuple[str, ...]) -> Check:
    if not report.source.has_launches:
        return Check(name, UNKNOWN)
    rows = [row for row in report.causes if row.cause in causes]
    lost = sum(row.idle_ns for row in rows)
    worst = max(rows, key=lambda row: row.idle_ns, default=None)
    return _judged(name, lost / report.total_ns, lost_ns=lost, gaps=sum(row.gaps for row in rows), **_named(worst))


def _named(worst: IdleCause | None) -> dict[str, Any]:
    return {} if worst is None else {"what": worst.what, "where": worst.where, "worst_ns": worst.idle_ns}


def _launch_latency(report: TraceReport) -> Check:
    figures = report.launches
    if figures is None:
        return Check("launch_latency", UNKNOWN)
    return _judged(
        "launch_latency",
        figures.on_empty_queue / figures.launched,
        latency_median_ns=figures.latency_median_ns,
        on_empty_queue=figures.on_empty_queue,
        launched=figures.launched,
        graph_launches=figures.graph_launches,
    )


def _scheduler(report: TraceReport) -> Check:
    scheduler = report.scheduler
    if scheduler is None:
        return Check("scheduler", UNKNOWN)
    share = scheduler.idle_ns / report.total_ns
    return _judged("scheduler", share, idle_ns=scheduler.idle_ns, host_ns=scheduler.host_ns, calls=scheduler.calls)


def _compiled(report: TraceReport) -> Check:
    """Compiled code is effective when the device is busy while it runs."""
    compiled = report.compiled
    if compiled is None or not compiled.gpu_span_ns:
        return Check("compiled", NOT_THERE, evidence={"compiling_ns": compiled.compiling_ns if compiled else 0})
    return _judged(
        "compiled",
        compiled.gpu_busy_ns / compiled.gpu_span_ns,
        calls=compiled.calls,
        triton_kernels=compiled.triton_kernels,
        kernels=compiled.kernels,
        compiling_ns=compiled.compiling_ns,
        graph_launches=report.launches.graph_launches if report.launches else 0,
    )


def _attention(report: TraceReport) -> Check:
    total = sum(row.gpu_ns for row in report.attention)
    if not total:
        return Check("attention", NOT_THERE)
    slow = [row for row in report.attention if row.backend in SLOW_ATTENTION]
    spent = sum(row.gpu_ns for row in slow)
    worst = max(slow, key=lambda row: row.gpu_ns, default=None)
    named = {} if worst is None else {"backend": worst.backend, "fast": worst.fast, "shapes": worst.shapes}
    return _judged("attention", spent / total, slow_ns=spent, attention_ns=total, of_gpu=total / report.gpu_ns, **named)


def _copies(report: TraceReport) -> Check:
    if not report.copies:
        return Check("copies", NOT_THERE)
    exposed = sum(line.exposed_copy_ns for line in report.timelines)
    pageable = sum(row.size_bytes or 0 for row in report.copies if row.memory == "pageable")
    longest = max(report.copies, key=lambda row: row.exposed_ns)
    return _judged(
        "copies",
        exposed / report.total_ns,
        exposed_ns=exposed,
        pageable_bytes=pageable,
        direction=longest.direction,
    )


def _communication(report: TraceReport) -> Check:
    total = sum(line.communication_ns for line in report.timelines)
    if not total:
        return Check("communication", NOT_THERE)
    exposed = sum(line.exposed_communication_ns for line in report.timelines)
    return _judged("communication", exposed / report.total_ns, exposed_ns=exposed, communication_ns=total)


def _memory(report: TraceReport) -> Check:
    """Flat means that the last step ends with no more than those before it."""
    held = report.steps.allocated_bytes[FIRST_STEPS:] if report.steps else ()
    if len(held) < 2 or not held[0]:
        return Check("memory", UNKNOWN)
    growth = (held[-1] - held[0]) / held[0]
    return _judged("memory", max(growth, 0.0), first_bytes=held[0], last_bytes=held[-1], steps=len(held))
