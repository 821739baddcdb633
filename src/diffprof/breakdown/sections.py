"""The time of a measured run by section, with total and self times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from diffprof.breakdown.clocks import Clock, clock_of
from diffprof.breakdown.shares import share
from diffprof.breakdown.spreads import Spread, spread_of
from diffprof.record.measured import Iteration, Measured, Sample

BETWEEN = "between sections"
"""The row for time outside of any section, in the pipeline's own code; it has one time for each iteration."""


@dataclass(frozen=True)
class SectionRow:
    """One section, over the given iterations."""

    section: str
    clock: str
    """The clock that the times are read from: device or host."""
    times: Spread
    """Times including nested sections; a section nested in one of the same name is not counted twice."""
    self_ns: int
    """Time without nested sections. The column adds up to the wall time exactly."""
    failures: int
    share: float
    """Share of the total in the wall time."""
    self_share: float
    """Share of `self_ns` in the wall time; the column adds up to 1."""


def section_table(iterations: Sequence[Iteration], clock: Clock | None = None) -> list[SectionRow]:
    """One row for each section, the longest total first, then the row `BETWEEN`.

    By default, `clock` is the one that all spans of the `iterations` have.
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
    """The warm-up calls; empty if there are no other calls, whose statistics they then are."""
    warm_up = [iteration for iteration in measured.iterations if iteration.warmup and iteration.error is None]
    whole = [iteration for iteration in warm_up if iteration.entry == "__call__"]
    return () if any(iteration.warmup for iteration in measured.timed_iterations) else tuple(whole)


def outermost(iteration: Iteration, name: Callable[[Sample], object]) -> list[Sample]:
    """The samples that are not nested in one of the same name, whose times can be added."""
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
    """The time of each sample without the samples directly inside it."""
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
