"""Compare the measured times of two profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from diffprof.breakdown.clocks import HOST, Clock, clock_of
from diffprof.breakdown.sections import BETWEEN, outermost
from diffprof.comparison.statistics import CONFIDENCE, Ratio, are_enough, outliers, time_ratio
from diffprof.record.measured import Iteration, Measured
from diffprof.record.profile import Profile

CALL, CPU_TIME, STEP = "whole call", "CPU time", "step"
"""Names of the times that are not sections."""

SLOWER, FASTER, NONE_SHOWN = "slower", "faster", "no difference shown"
TOO_FEW, TOO_BUSY, ONLY_ONE = "too few samples", "too busy a machine", "only in one"
"""The verdicts."""

LEAST_CPU_SHARE = 0.9
"""If a run on a CPU had a smaller share of one core, its times include waiting for other processes."""


REPRODUCIBLE = 0.01
"""Smaller changes are not called a difference: successive runs of the same code differ by as much."""


@dataclass(frozen=True)
class Outlier:
    """An iteration that took far more or less time than the others. Outliers are reported, not removed."""

    iteration: int
    """Its index among all iterations of the profile, including warm-ups."""
    time_ns: int


@dataclass(frozen=True)
class Times:
    """The times of one section in all timed iterations of one profile; each iteration is one sample."""

    count: int
    median_ns: float
    outliers: tuple[Outlier, ...] = ()


@dataclass(frozen=True)
class TimeChange:
    """The time of one section before and after, without warm-ups."""

    name: str
    """`CALL`, `CPU_TIME`, `STEP` or a section."""
    clock: str
    """device, host or cpu."""
    in_turns: bool
    """Whether the two profiles were measured in turns, so that times are compared pair by pair."""
    before: Times | None
    after: Times | None
    ratio: Ratio | None
    """None if only one profile has the section, or if there are too few samples."""
    verdict: str


def time_changes(before: Profile, after: Profile) -> tuple[TimeChange, ...]:
    """The changes of the whole call, its CPU time, the denoising step, and the sections.

    Empty if one of the profiles was only counted.
    """
    if (
        before.measured is None
        or after.measured is None
        or not before.measured.timed_iterations
        or not after.measured.timed_iterations
    ):
        return ()
    clock = _common_clock(before.measured, after.measured)
    sides = [_series(profile.measured, clock) for profile in (before, after) if profile.measured]
    names = dict.fromkeys([*sides[0], *sides[1]])
    in_turns = measured_in_turns(before.measured, after.measured)
    busy = not in_turns and any(map(was_short_of_cpu, (before.measured, after.measured)))
    return tuple(_change(name, clock, sides[0].get(name), sides[1].get(name), in_turns, busy) for name in names)


def measured_in_turns(before: Measured, after: Measured) -> bool:
    """Whether the calls of both alternated in one measurement."""
    return (
        before.turns is not None
        and before.turns == after.turns
        and len(before.timed_iterations) == len(after.timed_iterations)
    )


def cpu_share(measured: Measured) -> float | None:
    """The median share of one core that a run on a CPU had; None if unknown."""
    if measured.device.kind != "cpu":
        return None
    shares = [
        iteration.cpu_ns / max(iteration.wall.host_ns, 1)
        for iteration in measured.timed_iterations
        if iteration.cpu_ns is not None
    ]
    return median(shares) if shares else None


def was_short_of_cpu(measured: Measured) -> bool:
    """Whether other processes used the CPU during the run, so that its times say little about the code."""
    share = cpu_share(measured)
    return share is not None and share < LEAST_CPU_SHARE


@dataclass(frozen=True)
class _Sample:
    iteration: int
    place: int
    """Its index among the timed iterations."""
    time_ns: int


def _common_clock(before: Measured, after: Measured) -> Clock:
    clocks = {clock_of(measured.timed_iterations) for measured in (before, after)}
    return clocks.pop() if len(clocks) == 1 else HOST


def _series(measured: Measured, clock: Clock) -> dict[str, list[_Sample]]:
    """One sample per timed iteration for everything that was timed in it."""
    numbers = {id(iteration): number for number, iteration in enumerate(measured.iterations)}
    series: dict[str, list[_Sample]] = {CALL: [], CPU_TIME: [], STEP: []}
    for place, iteration in enumerate(measured.timed_iterations):
        for name, time_ns in _times(iteration, clock, on_cpu=measured.device.kind == "cpu").items():
            # A time of 0 is shorter than the resolution of the clock.
            sample = _Sample(numbers[id(iteration)], place, max(time_ns, 1))
            series.setdefault(name, []).append(sample)
    return {name: samples for name, samples in series.items() if samples}


def _times(iteration: Iteration, clock: Clock, on_cpu: bool) -> dict[str, int]:
    times = {CALL: clock.length_ns(iteration.wall)}
    if on_cpu and iteration.cpu_ns is not None:
        times[CPU_TIME] = iteration.cpu_ns
    steps = _main_loop(iteration, clock)
    if steps:
        times[STEP] = round(median(steps))
    for sample in outermost(iteration, lambda sample: sample.section):
        times[sample.section] = times.get(sample.section, 0) + clock.length_ns(sample.span)
    if iteration.samples:
        covered = sum(clock.length_ns(sample.span) for sample in iteration.samples if sample.parent is None)
        times[BETWEEN] = times[CALL] - covered
    return times


def _main_loop(iteration: Iteration, clock: Clock) -> list[int]:
    """The steps of the longest loop, because a cascade has several."""
    loops: dict[str, list[int]] = {}
    for step in iteration.steps:
        loops.setdefault(step.scheduler, []).append(clock.length_ns(step.span))
    return max(loops.values(), key=sum, default=[])


def _change(
    name: str,
    clock: Clock,
    before: Sequence[_Sample] | None,
    after: Sequence[_Sample] | None,
    in_turns: bool,
    busy: bool,
) -> TimeChange:
    ratio, verdict = None, ONLY_ONE
    if before and after:
        first, second = _pairs(before, after) if in_turns else (before, after)
        ratio, verdict = _judge(
            [sample.time_ns for sample in first], [sample.time_ns for sample in second], in_turns, busy
        )
    return TimeChange(
        name=name,
        clock="cpu" if name == CPU_TIME else clock.name,
        in_turns=in_turns,
        before=_summary(before),
        after=_summary(after),
        ratio=ratio,
        verdict=verdict,
    )


def _pairs(before: Sequence[_Sample], after: Sequence[_Sample]) -> tuple[list[_Sample], list[_Sample]]:
    """The samples of turns that both have; a section may not run in each turn."""
    turns = {sample.place for sample in before} & {sample.place for sample in after}
    return [sample for sample in before if sample.place in turns], [sample for sample in after if sample.place in turns]


def _judge(before: Sequence[int], after: Sequence[int], in_turns: bool, busy: bool) -> tuple[Ratio | None, str]:
    if not are_enough(len(before), len(after), in_turns):
        return None, TOO_FEW
    ratio = time_ratio(before, after, in_turns)
    if busy:
        return ratio, TOO_BUSY
    least = 0 if in_turns else REPRODUCIBLE
    if ratio.p_value > 1 - CONFIDENCE:
        return ratio, NONE_SHOWN
    return ratio, SLOWER if ratio.low > 1 + least else FASTER if ratio.high < 1 - least else NONE_SHOWN


def _summary(samples: Sequence[_Sample] | None) -> Times | None:
    if not samples:
        return None
    times = [sample.time_ns for sample in samples]
    far_off = [samples[place] for place in outliers(times)]
    return Times(len(times), median(times), tuple(Outlier(sample.iteration, sample.time_ns) for sample in far_off))
