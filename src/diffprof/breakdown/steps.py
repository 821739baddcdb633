"""The denoising steps of a measured run: their times, the time between them, and their MACs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from diffprof.breakdown.clocks import Clock, clock_of, shows_rates
from diffprof.breakdown.component_samples import component_samples, counted_calls
from diffprof.breakdown.spreads import spread_of
from diffprof.record.measured import Iteration
from diffprof.record.profile import Profile

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class StepSample:
    """One executed step of one iteration, which may be a warm-up."""

    iteration: int
    warmup: bool
    scheduler: str
    number: int
    clock: str
    start_ns: int
    """Start, since the start of the iteration."""
    length_ns: int
    before_ns: int | None
    """Time since the end of the step before (callbacks, progress bars); None for the first step of a scheduler."""
    macs: int | None
    """MACs of the component calls in it; None if one of them was not counted."""


@dataclass(frozen=True)
class StepRow:
    """One step, over all timed iterations."""

    scheduler: str
    number: int
    clock: str
    count: int
    """The number of iterations in which it ran."""
    median_ns: float
    min_ns: int
    max_ns: int
    before_ns: float | None
    """Median of the time since the end of the step before; None for the first."""
    macs: int | None
    flops_per_second: float | None


@dataclass(frozen=True)
class LoopRow:
    """One denoising loop: all steps of one scheduler, over all timed iterations."""

    scheduler: str
    clock: str
    steps: int
    """Steps in one iteration; the median if iterations differ."""
    median_ns: float
    """Median time of one step."""
    min_ns: int
    max_ns: int
    first_ns: float
    """Median of the first steps."""
    later_ns: float | None
    """Median of all other steps; None if there are none."""
    between_ns: float
    """Total time between the steps of one iteration; the median over iterations."""
    loop_ns: float
    """Time from the start of the first step to the end of the last; the median over iterations."""
    steps_per_second: float | None
    """Steps per second of the loop, including the time between steps: what a progress bar shows as it/s."""


def step_samples(profile: Profile) -> list[StepSample]:
    """Every step of every iteration except traced ones, in the order of execution."""
    ran = profile.measured.iterations if profile.measured else ()
    clock = clock_of(ran)
    return [
        sample
        for number, iteration in enumerate(ran)
        if not iteration.traced
        for sample in _samples(profile, iteration, number, clock)
    ]


def step_table(profile: Profile) -> list[StepRow]:
    """One row for each step of each scheduler, over the timed iterations."""
    groups: dict[tuple[str, int], list[StepSample]] = {}
    for iteration in timed_steps(profile):
        for sample in iteration:
            groups.setdefault((sample.scheduler, sample.number), []).append(sample)
    rates = _has_rates(profile)
    return [_row(samples) if rates else replace(_row(samples), flops_per_second=None) for samples in groups.values()]


def loop_table(profile: Profile) -> list[LoopRow]:
    """One row for each scheduler, over the timed iterations, in the order in which they ran."""
    iterations = timed_steps(profile)
    names = dict.fromkeys(sample.scheduler for iteration in iterations for sample in iteration)
    loops = [
        _loop([[sample for sample in iteration if sample.scheduler == name] for iteration in iterations])
        for name in names
    ]
    return loops if _has_rates(profile) else [replace(loop, steps_per_second=None) for loop in loops]


def _has_rates(profile: Profile) -> bool:
    measured = profile.measured
    return measured is not None and shows_rates(measured, clock_of(measured.timed_iterations))


def timed_steps(profile: Profile) -> list[list[StepSample]]:
    """The steps of each timed iteration."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    clock = clock_of(timed)
    return [_samples(profile, iteration, number, clock) for number, iteration in enumerate(timed)]


def loops_ns(steps: Sequence[StepSample]) -> int:
    """The time of the loops of one iteration, each from the start of its first step to the end of its last."""
    first = {step.scheduler: step.start_ns for step in reversed(steps)}
    last = {step.scheduler: step.start_ns + step.length_ns for step in steps}
    return sum(last[name] - first[name] for name in first)


def _samples(profile: Profile, iteration: Iteration, number: int, clock: Clock) -> list[StepSample]:
    ended: dict[str, int] = {}
    found = []
    for place, step in enumerate(iteration.steps):
        start_ns, before = clock.start_ns(step.span), ended.get(step.scheduler)
        found.append(
            StepSample(
                iteration=number,
                warmup=iteration.warmup,
                scheduler=step.scheduler,
                number=step.number,
                clock=clock.name,
                start_ns=start_ns,
                length_ns=clock.length_ns(step.span),
                before_ns=None if before is None else start_ns - before,
                macs=_macs(profile, iteration, place),
            )
        )
        ended[step.scheduler] = clock.end_ns(step.span)
    return found


def _macs(profile: Profile, iteration: Iteration, place: int) -> int | None:
    calls = counted_calls(profile, [sample for sample in component_samples(iteration) if sample.step == place])
    # A step without any known call may still have computed something.
    return sum(call.macs for call in calls) if calls else None


def _row(samples: Sequence[StepSample]) -> StepRow:
    spread = spread_of([sample.length_ns for sample in samples])
    before = [sample.before_ns for sample in samples if sample.before_ns is not None]
    macs = [sample.macs for sample in samples if sample.macs is not None]
    counted = len(macs) == len(samples)
    return StepRow(
        scheduler=samples[0].scheduler,
        number=samples[0].number,
        clock=samples[0].clock,
        count=spread.count,
        median_ns=spread.median_ns,
        min_ns=spread.min_ns,
        max_ns=spread.max_ns,
        before_ns=statistics.median(before) if before else None,
        macs=statistics.median_low(macs) if counted else None,
        flops_per_second=median_rate([2 * step_macs for step_macs in macs], [sample.length_ns for sample in samples])
        if counted
        else None,
    )


def median_rate(amounts: Sequence[int], times_ns: Sequence[int]) -> float | None:
    """The median of the amounts per second; None if one of the times is 0."""
    if not amounts or not all(times_ns):
        return None
    pairs = zip(amounts, times_ns, strict=True)
    return statistics.median(NANOSECONDS * amount / time for amount, time in pairs)


def _loop(iterations: Sequence[Sequence[StepSample]]) -> LoopRow:
    ran = [steps for steps in iterations if steps]
    every = [step for steps in ran for step in steps]
    spread = spread_of([step.length_ns for step in every])
    later = [step.length_ns for steps in ran for step in steps[1:]]
    loops = [loops_ns(steps) for steps in ran]
    return LoopRow(
        scheduler=every[0].scheduler,
        clock=every[0].clock,
        steps=statistics.median_low([len(steps) for steps in ran]),
        median_ns=spread.median_ns,
        min_ns=spread.min_ns,
        max_ns=spread.max_ns,
        first_ns=statistics.median([steps[0].length_ns for steps in ran]),
        later_ns=statistics.median(later) if later else None,
        between_ns=statistics.median([sum(step.before_ns or 0 for step in steps) for steps in ran]),
        loop_ns=statistics.median(loops),
        steps_per_second=median_rate([len(steps) for steps in ran], loops),
    )
