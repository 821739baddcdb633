"""Compare two traces: what became slower or faster, which kernels are new or gone, and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from diffprof.traces.facts import CAUSES, Timeline, TraceExplanation


@dataclass(frozen=True)
class TraceChange:
    """A time and a number of calls before and after; 0 calls if it did not exist."""

    name: str
    before_ns: int
    after_ns: int
    before_calls: int = 0
    after_calls: int = 0

    @property
    def difference_ns(self) -> int:
        return self.after_ns - self.before_ns

    @property
    def ratio(self) -> float | None:
        """`after_ns` divided by `before_ns`."""
        return self.after_ns / self.before_ns if self.before_ns else None


@dataclass(frozen=True)
class SourceDifference:
    """A condition that differs between the two traces; a value is empty if it is unknown."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class TraceComparison:
    """What changed from one trace to another."""

    before: TraceExplanation
    after: TraceExplanation
    differences: tuple[SourceDifference, ...]
    """The conditions that differ: keep them in mind when reading the times."""
    timeline: tuple[TraceChange, ...]
    kinds: tuple[TraceChange, ...]
    causes: tuple[TraceChange, ...]
    attention: tuple[TraceChange, ...]
    kernels: tuple[TraceChange, ...]
    """The kernels in both traces, the largest change first."""
    appeared: tuple[TraceChange, ...]
    gone: tuple[TraceChange, ...]


def compare_traces(before: TraceExplanation, after: TraceExplanation) -> TraceComparison:
    """What changed from `before` to `after`."""
    kernels = _changes(before.kernels, after.kernels, lambda row: row.name, lambda row: (row.gpu_ns, row.count))
    in_both = [row for row in kernels if row.before_calls and row.after_calls and row.difference_ns]
    return TraceComparison(
        before=before,
        after=after,
        differences=_differences(before, after),
        timeline=tuple(_timeline(before.timelines, after.timelines)),
        kinds=_changes(before.kinds, after.kinds, lambda row: row.kind, lambda row: (row.gpu_ns, row.count)),
        causes=_causes(before, after),
        attention=_changes(
            before.attention, after.attention, lambda row: row.backend, lambda row: (row.gpu_ns, row.calls)
        ),
        kernels=tuple(in_both),
        appeared=tuple(row for row in kernels if not row.before_calls),
        gone=tuple(row for row in kernels if not row.after_calls),
    )


# The times of a timeline that are compared, in the order of display.
TIMELINE_TIMES: dict[str, Callable[[Timeline], int]] = {
    "total": lambda line: line.total_ns,
    "computation": lambda line: line.computation_ns,
    "exposed communication": lambda line: line.exposed_communication_ns,
    "exposed copies": lambda line: line.exposed_copy_ns,
    "busy": lambda line: line.busy_ns,
    "idle": lambda line: line.idle_ns,
}


def _timeline(before: tuple[Timeline, ...], after: tuple[Timeline, ...]) -> Iterable[TraceChange]:
    for name, time in TIMELINE_TIMES.items():
        yield TraceChange(name, sum(map(time, before)), sum(map(time, after)))


def _causes(before: TraceExplanation, after: TraceExplanation) -> tuple[TraceChange, ...]:
    changes = _changes(before.causes, after.causes, lambda row: row.cause, lambda row: (row.idle_ns, row.gaps))
    return tuple(sorted(changes, key=lambda row: CAUSES.index(row.name)))


def _changes(
    before: Iterable[Any],
    after: Iterable[Any],
    name: Callable[[Any], str],
    time_and_calls: Callable[[Any], tuple[int, int]],
) -> tuple[TraceChange, ...]:
    """The rows by name with time and calls before and after, the largest change first."""
    sums: dict[str, list[int]] = {}
    for place, rows in ((0, before), (1, after)):
        for row in rows:
            time, calls = time_and_calls(row)
            row_sums = sums.setdefault(name(row), [0, 0, 0, 0])
            row_sums[place] += time
            row_sums[2 + place] += calls
    changes = [TraceChange(name, *row_sums) for name, row_sums in sums.items()]
    return tuple(sorted(changes, key=lambda row: -abs(row.difference_ns)))


def _differences(before: TraceExplanation, after: TraceExplanation) -> tuple[SourceDifference, ...]:
    """The conditions that differ."""
    pairs = {
        "platform": (before.source.platform, after.source.platform),
        "device": (", ".join(before.source.device_names), ", ".join(after.source.device_names)),
        "devices at work": (str(len(before.timelines)), str(len(after.timelines))),
        "ranks": (str(before.source.world_size or 1), str(after.source.world_size or 1)),
        "steps": (_steps(before), _steps(after)),
        "stacks recorded": (_yes_or_no(before.source.has_stacks), _yes_or_no(after.source.has_stacks)),
        "shapes recorded": (_yes_or_no(before.source.has_shapes), _yes_or_no(after.source.has_shapes)),
    }
    return tuple(SourceDifference(name, *values) for name, values in pairs.items() if values[0] != values[1])


def _steps(explanation: TraceExplanation) -> str:
    return str(len(explanation.steps.kernels)) if explanation.steps else ""


def _yes_or_no(yes: bool) -> str:
    return "yes" if yes else "no"
