"""A checklist for a trace: questions that are answered by a share and its thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof.traces.facts import HOST, LAUNCH, SLOW_ATTENTION, SYNCHRONISATION, IdleCause, TraceExplanation

GOOD, LOOK, BAD = "good", "look", "bad"
UNKNOWN = "unknown"
"""The trace does not have the answer."""
NOT_THERE = "none"
"""The trace has nothing that the question is about."""


@dataclass(frozen=True)
class Thresholds:
    """The limits of a good and a bad share; in between it is worth a look."""

    good: float
    bad: float

    @property
    def more_is_better(self) -> bool:
        return self.good > self.bad

    def verdict(self, share: float) -> str:
        if self.more_is_better:
            return GOOD if share >= self.good else BAD if share < self.bad else LOOK
        return GOOD if share <= self.good else BAD if share > self.bad else LOOK


THRESHOLDS = {
    "gpu_busy": Thresholds(0.90, 0.70),
    "host_blocking": Thresholds(0.02, 0.10),
    "host_keeps_up": Thresholds(0.05, 0.20),
    "launch_latency": Thresholds(0.10, 0.50),
    "scheduler": Thresholds(0.02, 0.10),
    "compiled": Thresholds(0.90, 0.70),
    "attention": Thresholds(0.05, 0.25),
    "copies": Thresholds(0.02, 0.10),
    "communication": Thresholds(0.10, 0.25),
    "memory": Thresholds(0.01, 0.05),
}

# The first steps may use more or less memory than those after them.
FIRST_STEPS = 1


@dataclass(frozen=True)
class TraceCheck:
    """One question and its answer."""

    name: str
    verdict: str
    share: float | None = None
    """What is compared with the thresholds."""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def thresholds(self) -> Thresholds:
        return THRESHOLDS[self.name]


def checklist(explanation: TraceExplanation) -> tuple[TraceCheck, ...]:
    """The answers to all questions, in the order of `THRESHOLDS`."""
    if not explanation.timelines:
        return tuple(TraceCheck(name, UNKNOWN, evidence={"gpu_work": False}) for name in THRESHOLDS)
    answers = {
        "gpu_busy": _busy(explanation),
        "host_blocking": _check_lost_time(explanation, "host_blocking", (SYNCHRONISATION,)),
        "host_keeps_up": _check_lost_time(explanation, "host_keeps_up", (HOST, LAUNCH)),
        "launch_latency": _launch_latency(explanation),
        "scheduler": _scheduler(explanation),
        "compiled": _check_compiled_code(explanation),
        "attention": _attention(explanation),
        "copies": _copies(explanation),
        "communication": _communication(explanation),
        "memory": _memory(explanation),
    }
    return tuple(answers[name] for name in THRESHOLDS)


def _check_share(name: str, share: float, **evidence: Any) -> TraceCheck:
    return TraceCheck(name, THRESHOLDS[name].verdict(share), share, evidence)


def _busy(explanation: TraceExplanation) -> TraceCheck:
    busy = sum(line.busy_ns for line in explanation.timelines)
    return _check_share(
        "gpu_busy",
        busy / explanation.total_ns,
        busy_ns=busy,
        total_ns=explanation.total_ns,
        idle_ns=explanation.idle_ns,
    )


def _check_lost_time(explanation: TraceExplanation, name: str, causes: tuple[str, ...]) -> TraceCheck:
    if not explanation.source.has_launches:
        return TraceCheck(name, UNKNOWN)
    rows = [row for row in explanation.causes if row.cause in causes]
    lost = sum(row.idle_ns for row in rows)
    worst = max(rows, key=lambda row: row.idle_ns, default=None)
    return _check_share(
        name, lost / explanation.total_ns, lost_ns=lost, gaps=sum(row.gaps for row in rows), **_worst_evidence(worst)
    )


def _worst_evidence(worst: IdleCause | None) -> dict[str, Any]:
    return {} if worst is None else {"what": worst.what, "where": worst.where, "worst_ns": worst.idle_ns}


def _launch_latency(explanation: TraceExplanation) -> TraceCheck:
    launches = explanation.launches
    if launches is None:
        return TraceCheck("launch_latency", UNKNOWN)
    return _check_share(
        "launch_latency",
        launches.on_empty_queue / launches.launched,
        latency_median_ns=launches.latency_median_ns,
        on_empty_queue=launches.on_empty_queue,
        launched=launches.launched,
        graph_launches=launches.graph_launches,
    )


def _scheduler(explanation: TraceExplanation) -> TraceCheck:
    scheduler = explanation.scheduler
    if scheduler is None:
        return TraceCheck("scheduler", UNKNOWN)
    share = scheduler.idle_ns / explanation.total_ns
    return _check_share("scheduler", share, idle_ns=scheduler.idle_ns, host_ns=scheduler.host_ns, calls=scheduler.calls)


def _check_compiled_code(explanation: TraceExplanation) -> TraceCheck:
    """Compiled code is effective if the device is busy while it runs."""
    compiled = explanation.compiled
    if compiled is None or not compiled.gpu_span_ns:
        return TraceCheck("compiled", NOT_THERE, evidence={"compiling_ns": compiled.compiling_ns if compiled else 0})
    return _check_share(
        "compiled",
        compiled.gpu_busy_ns / compiled.gpu_span_ns,
        calls=compiled.calls,
        triton_kernels=compiled.triton_kernels,
        kernels=compiled.kernels,
        compiling_ns=compiled.compiling_ns,
        graph_launches=explanation.launches.graph_launches if explanation.launches else 0,
    )


def _attention(explanation: TraceExplanation) -> TraceCheck:
    total = sum(row.gpu_ns for row in explanation.attention)
    if not total:
        return TraceCheck("attention", NOT_THERE)
    slow = [row for row in explanation.attention if row.backend in SLOW_ATTENTION]
    spent = sum(row.gpu_ns for row in slow)
    worst = max(slow, key=lambda row: row.gpu_ns, default=None)
    named = (
        {} if worst is None else {"backend": worst.backend, "alternative": worst.alternative, "shapes": worst.shapes}
    )
    return _check_share(
        "attention", spent / total, slow_ns=spent, attention_ns=total, of_gpu=total / explanation.gpu_ns, **named
    )


def _copies(explanation: TraceExplanation) -> TraceCheck:
    if not explanation.copies:
        return TraceCheck("copies", NOT_THERE)
    exposed = sum(line.exposed_copy_ns for line in explanation.timelines)
    pageable = sum(row.size_bytes or 0 for row in explanation.copies if row.memory == "pageable")
    longest = max(explanation.copies, key=lambda row: row.exposed_ns)
    return _check_share(
        "copies",
        exposed / explanation.total_ns,
        exposed_ns=exposed,
        pageable_bytes=pageable,
        direction=longest.direction,
    )


def _communication(explanation: TraceExplanation) -> TraceCheck:
    total = sum(line.communication_ns for line in explanation.timelines)
    if not total:
        return TraceCheck("communication", NOT_THERE)
    exposed = sum(line.exposed_communication_ns for line in explanation.timelines)
    return _check_share("communication", exposed / explanation.total_ns, exposed_ns=exposed, communication_ns=total)


def _memory(explanation: TraceExplanation) -> TraceCheck:
    """Memory is flat if the last step ends with no more than the steps before it."""
    held = explanation.steps.allocated_bytes[FIRST_STEPS:] if explanation.steps else ()
    if len(held) < 2 or not held[0]:
        return TraceCheck("memory", UNKNOWN)
    growth = (held[-1] - held[0]) / held[0]
    return _check_share("memory", max(growth, 0.0), first_bytes=held[0], last_bytes=held[-1], steps=len(held))
