"""What was found in a trace as events for Perfetto: a process of its own below the others."""

from __future__ import annotations

from typing import Any

from diffprof.traces.analysis.checklist import BAD, LOOK, checklist
from diffprof.traces.facts import TraceReport
from diffprof.traces.views.checks import say
from diffprof.traces.views.names import CAUSES, short

PROCESS = "diffprof"
FINDINGS = 0


def marks(report: TraceReport) -> list[dict[str, Any]]:
    """The gaps by device, each with its cause, and what of the checklist is not good."""
    events = [_named("process_name", FINDINGS, "diffprof: findings")]
    if report.timelines:
        events.append(_named("thread_name", FINDINGS, "checklist"))
    events += [
        _named("thread_name", _track(line.device), f"GPU {line.device} idle because") for line in report.timelines
    ]
    for gap in report.gaps:
        name = f"{CAUSES[gap.cause]}: {short(gap.what)}" if gap.what else CAUSES[gap.cause]
        arguments = {"cause": gap.cause, "what": gap.what, "where": gap.where, "before": gap.before, "after": gap.after}
        events.append(_slice(report, name, _track(gap.device), gap.start_ns, gap.length_ns, arguments))
    if report.timelines:
        events += _findings(report)
    return events


def _findings(report: TraceReport) -> list[dict[str, Any]]:
    """One slice below the other, as long as all work on the first device."""
    line = report.timelines[0]
    found = [say(check) for check in checklist(report) if check.verdict in (LOOK, BAD)]
    return [
        _slice(
            report,
            f"{said.verdict}: {said.question} {said.evidence}",
            FINDINGS,
            line.before_ns,
            line.total_ns,
            {"threshold": said.threshold, "advice": said.advice},
        )
        for said in found
    ]


def _track(device: int) -> int:
    return 1 + max(device, 0)


def _named(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": track, "ts": 0, "args": {"name": name}}


def _slice(
    report: TraceReport, name: str, track: int, start_ns: int, length_ns: int, arguments: dict[str, str]
) -> dict[str, Any]:
    """Perfetto takes microseconds since the beginning of the trace's own clock."""
    return {
        "ph": "X",
        "cat": PROCESS,
        "name": name,
        "pid": PROCESS,
        "tid": track,
        "ts": (report.source.origin_ns + start_ns) / 1000,
        "dur": length_ns / 1000,
        "args": arguments,
    }
