"""Where the time of a measured run went: the sections, each without what lies inside it, and what lies between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from diffprof.breakdown.clocks import Clock, clock_of
from diffprof.breakdown.shares import share
from diffprof.breakdown.spreads import Spread, spread_of
from diffprof.record.measured import Iteration, Measured, Sample

BETWEEN = "between sections"
"""The row of what no section covers: the pipeline's own code. It has one time for each iteration."""


@dataclass(frozen=True)
class SectionRow:
    """One section, over the given iterations."""

    section: str
    clock: str
    """device or host: the clock that the times are read on."""
    times: Spread
    """Of the section with what lies inside it; a section inside one of the same name is not in the total again."""
    self_ns: int
    """Without the sections inside it. The column adds up to the wall time, exactly."""
    failures: int
    share: float
    """Of the total in the wall time."""
    self_share: float
    """Of `self_ns` in the wall time; the column adds up to 1."""


def section_table(iterations: Sequence[Iteration], clock: Clock | None = None) -> list[SectionRow]:
    """One row for each section, the longest total first, and last what lies between them.

    `iterations` are those of ``Measured.timed``, the warm-ups, or any others; `clock` is theirs when it is not given.
    """
    if not iterations:
        return []
    read = clock or clock_of(iterations)
    wall_ns = sum(read.length_ns(iteration.wall) for iteration in iterations)
    names = dict.fromkeys(sample.section for iteration in iterations for sample in iteration.samples)
    rows = [_row(name, iterations, read, wall_ns) for name in names]
    rows.sort(key=lambda row: (-row.times.total_ns, row.section))
    return [*rows, _between_row(iterations, read, wall_ns)]


def warm_ups(measured: Measured) -> tuple[Iteration, ...]:
    """The whole calls that only warmed up, unless there is nothing else to make statistics of."""
    warm_up = [iteration for iteration in measured.iterations if iteration.warmup and iteration.error is None]
    whole = [iteration for iteration in warm_up if iteration.entry == "__call__"]
    return () if any(iteration.warmup for iteration in measured.timed) else tuple(whole)


def outermost(iteration: Iteration, name: Callable[[Sample], object]) -> list[Sample]:
    """The samples without those that lie inside one of the same name: their times can be added."""
    return [
        sample
        for sample in iteration.samples
        if not any(name(around) == name(sample) for around in _ancestors(sample, iteration.samples))
    ]


def _row(name: str, iterations: Sequence[Iteration], clock: Clock, wall_ns: int) -> SectionRow:
    found = [sample for iteration in iterations for sample in iteration.samples if sample.section == name]
    added = [
        sample
        for iteration in iterations
        for sample in outermost(iteration, lambda sample: sample.section)
        if sample.section == name
    ]
    total_ns = sum(clock.length_ns(sample.span) for sample in added)
    self_ns = sum(
        own
        for iteration in iterations
        for sample, own in zip(iteration.samples, _self_times(iteration, clock), strict=True)
        if sample.section == name
    )
    times = spread_of([clock.length_ns(sample.span) for sample in found])
    return SectionRow(
        section=name,
        clock=clock.name,
        times=replace(times, total_ns=total_ns),
        self_ns=self_ns,
        failures=sum(sample.failed for sample in found),
        share=share(total_ns, wall_ns),
        self_share=share(self_ns, wall_ns),
    )


def _between_row(iterations: Sequence[Iteration], clock: Clock, wall_ns: int) -> SectionRow:
    left = [
        clock.length_ns(iteration.wall)
        - sum(clock.length_ns(sample.span) for sample in iteration.samples if sample.parent is None)
        for iteration in iterations
    ]
    return SectionRow(
        section=BETWEEN,
        clock=clock.name,
        times=spread_of(left),
        self_ns=sum(left),
        failures=sum(iteration.error is not None for iteration in iterations),
        share=share(sum(left), wall_ns),
        self_share=share(sum(left), wall_ns),
    )


def _self_times(iteration: Iteration, clock: Clock) -> list[int]:
    """The time of each sample without those directly inside it."""
    own = [clock.length_ns(sample.span) for sample in iteration.samples]
    for sample in iteration.samples:
        if sample.parent is not None:
            own[sample.parent] -= clock.length_ns(sample.span)
    return own


def _ancestors(sample: Sample, samples: Sequence[Sample]) -> list[Sample]:
    around = []
    while sample.parent is not None:
        sample = samples[sample.parent]
        around.append(sample)
    return around
