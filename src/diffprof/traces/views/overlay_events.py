"""The findings in a trace as events for Perfetto, in their own process below the others."""

from __future__ import annotations

from typing import Any

from diffprof.traces.analysis.checklist import BAD, LOOK, checklist
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.views.checklist import describe_check
from diffprof.traces.views.names import CAUSES, short

PROCESS = "diffprof"
CHECKLIST_TRACK = 0


def overlay_events(explanation: TraceExplanation) -> list[dict[str, Any]]:
    """The gaps of each device with their causes, and the checks that are not good."""
    events = [_name_event("process_name", CHECKLIST_TRACK, "diffprof: findings")]
    if explanation.timelines:
        events.append(_name_event("thread_name", CHECKLIST_TRACK, "checklist"))
    events += [
        _name_event("thread_name", _gap_track(line.device), f"GPU {line.device} idle time")
        for line in explanation.timelines
    ]
    for gap in explanation.gaps:
        name = f"{CAUSES[gap.cause]}: {short(gap.what)}" if gap.what else CAUSES[gap.cause]
        arguments = {"cause": gap.cause, "what": gap.what, "where": gap.where, "before": gap.before, "after": gap.after}
        events.append(_slice(explanation, name, _gap_track(gap.device), gap.start_ns, gap.length_ns, arguments))
    if explanation.timelines:
        events += _check_events(explanation)
    return events


def _check_events(explanation: TraceExplanation) -> list[dict[str, Any]]:
    """One slice for each check, below each other, as long as all work on the first device."""
    line = explanation.timelines[0]
    checks = [describe_check(check) for check in checklist(explanation) if check.verdict in (LOOK, BAD)]
    return [
        _slice(
            explanation,
            f"{check.verdict}: {check.question} {check.evidence}",
            CHECKLIST_TRACK,
            line.before_ns,
            line.total_ns,
            {"threshold": check.threshold, "advice": check.advice},
        )
        for check in checks
    ]


def _gap_track(device: int) -> int:
    return 1 + max(device, 0)


def _name_event(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": track, "ts": 0, "args": {"name": name}}


def _slice(
    explanation: TraceExplanation, name: str, track: int, start_ns: int, length_ns: int, arguments: dict[str, str]
) -> dict[str, Any]:
    """A slice in microseconds on the trace's own clock, as Perfetto needs it."""
    return {
        "ph": "X",
        "cat": PROCESS,
        "name": name,
        "pid": PROCESS,
        "tid": track,
        "ts": (explanation.source.origin_ns + start_ns) / 1000,
        "dur": length_ns / 1000,
        "args": arguments,
    }
