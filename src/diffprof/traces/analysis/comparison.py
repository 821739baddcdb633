"""Two traces: what got slower, which kernels came and went, the gaps before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from diffprof.traces.facts import CAUSES, Timeline, TraceReport


@dataclass(frozen=True)
class Change:
    """One figure before and after; times in nanoseconds. 0 calls: it was not there."""

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
        """After to before."""
        return self.after_ns / self.before_ns if self.before_ns else None


@dataclass(frozen=True)
class TraceComparison:
    """What changed from one trace to another."""

    before: TraceReport
    after: TraceReport
    differences: tuple[str, ...]
    """What the two do not have in common: read the figures with it in mind."""
    timeline: tuple[Change, ...]
    kinds: tuple[Change, ...]
    causes: tuple[Change, ...]
    attention: tuple[Change, ...]
    kernels: tuple[Change, ...]
    """Those in both, the largest change first."""
    appeared: tuple[Change, ...]
    gone: tuple[Change, ...]


def compare_traces(before: TraceReport, after: TraceReport) -> TraceComparison:
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


# The figures of a time line that are compared, in the order in which they are shown.
FIGURES: dict[str, Callable[[Timeline], int]] = {
    "total": lambda line: line.total_ns,
    "computation": lambda line: line.computation_ns,
    "exposed communication": lambda line: line.exposed_communication_ns,
    "exposed copies": lambda line: line.exposed_copy_ns,
    "busy": lambda line: line.busy_ns,
    "idle": lambda line: line.idle_ns,
}


def _timeline(before: tuple[Timeline, ...], after: tuple[Timeline, ...]) -> Iterable[Change]:
    for name, figure in FIGURES.items():
        yield Change(name, sum(map(figure, before)), sum(map(figure, after)))


def _causes(before: TraceReport, after: TraceReport) -> tuple[Change, ...]:
    changes = _changes(before.causes, after.causes, lambda row: row.cause, lambda row: (row.idle_ns, row.gaps))
    return tuple(sorted(changes, key=lambda row: CAUSES.index(row.name)))


def _changes(
    before: Iterable[Any], after: Iterable[Any], name: Callable[[Any], str], figures: Callable[[Any], tuple[int, int]]
) -> tuple[Change, ...]:
    """The rows by name with time and calls before and after, the largest change first."""
    found: dict[str, list[int]] = {}
    for place, rows in ((0, before), (1, after)):
        for row in rows:
            time, calls = figures(row)
            counted = found.setdefault(name(row), [0, 0, 0, 0])
            counted[place] += time
            counted[2 + place] += calls
    return tuple(
        sorted((Change(key, *counted) for key, counted in found.items()), key=lambda row: -abs(row.difference_ns))
    )


def _differences(before: TraceReport, after: TraceReport) -> tuple[str, ...]:
    """The conditions that differ, in words."""
    pairs = {
        "platform": (before.source.platform, after.source.platform),
        "device": (", ".join(before.source.device_names), ", ".join(after.source.device_names)),
        "devices at work": (str(len(before.timelines)), str(len(after.timelines))),
        "ranks": (str(before.source.world_size or 1), str(after.source.world_size or 1)),
        "steps": (_steps(before), _steps(after)),
        "stacks recorded": (_said(before.source.has_stacks), _said(after.source.has_stacks)),
        "shapes recorded": (_said(before.source.has_shapes), _said(after.source.has_shapes)),
    }
    return tuple(
        f"{name}: {one or 'unknown'} before, {other or 'unknown'} after"
        for name, (one, other) in pairs.items()
        if one != other
    )


def _steps(report: TraceReport) -> str:
    return str(len(report.steps.kernels)) if report.steps else ""


def _said(yes: bool) -> str:
    return "yes" if yes else "no"
