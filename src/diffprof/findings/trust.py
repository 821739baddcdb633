"""Rules about how far measured times can be trusted: failed calls, warm-up, and unstable timings."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean, median, stdev

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.steps import NANOSECONDS, StepSample, step_samples
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

SPREAD = Threshold("spread_share", 0.05, "two runs that differ by less than their own spread cannot be distinguished")
ITERATIONS_FOR_A_SPREAD = Threshold("iterations", 3, "two values show a difference, not a spread")
SLOW_FIRST_ITERATION = Threshold(
    "first_ratio", 1.5, "loading, compiling and tuning happen once; noise seldom makes a call half as long again"
)
SLOW_FIRST_STEP = Threshold("first_step_ratio", 2.0, "a single step varies more than a whole call")
STEPS_TO_COMPARE = Threshold("following_steps", 3, "the median of fewer may be a disturbed one")
NOTICED = Threshold("extra_seconds", 0.1, "less is not noticeable")


def incomplete_run(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """An iteration ended with an error."""
    failed = [iteration for iteration in measured.iterations if iteration.error is not None]
    if not failed:
        return
    last = failed[-1]
    whole = all(iteration.error is None for iteration in measured.timed_iterations)
    yield Finding(
        "incomplete_run",
        "others_ended" if whole else "none_ended",
        1.0,
        {
            "failed": len(failed),
            "iterations": len(measured.iterations),
            "timed": len(measured.timed_iterations),
            "error": last.error,
            "steps": len(last.steps),
            "until_seconds": last.wall.host_ns / NANOSECONDS,
        },
    )


def unstable_timings(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """Iterations of the same call took different times."""
    clock = clock_of(measured.timed_iterations)
    first = _first_iteration(measured)
    # Without a first iteration that is warm-up: another rule reports it.
    timed = (
        measured.timed_iterations[1:]
        if first is not None and first.case == "in_the_figures"
        else measured.timed_iterations
    )
    walls = [clock.length_ns(iteration.wall) / NANOSECONDS for iteration in timed]
    if len(walls) < ITERATIONS_FOR_A_SPREAD.value or not all(walls):
        return
    spread = stdev(walls) / fmean(walls)
    if spread >= SPREAD.value:
        yield Finding(
            "unstable_timings",
            "iterations",
            1.0,
            {
                "spread_share": spread,
                "iterations": len(walls),
                "fastest_seconds": min(walls),
                "slowest_seconds": max(walls),
                "mean_seconds": fmean(walls),
            },
        )


def warm_up(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The first iteration, or else the first step, is much slower than those after it."""
    found = _first_iteration(measured) or _first_step(profile, measured)
    if found is not None:
        yield found


def _first_iteration(measured: Measured) -> Finding | None:
    whole = [one for one in measured.iterations if one.entry == "__call__" and one.error is None and not one.traced]
    if len(whole) < 2:
        return None
    first, *others = whole
    others = [one for one in others if not one.warmup] or others
    clock = clock_of(whole)
    evidence = _slow_first(
        clock.length_ns(first.wall), [clock.length_ns(one.wall) for one in others], SLOW_FIRST_ITERATION
    )
    if evidence is None:
        return None
    if first not in measured.timed_iterations:
        return Finding("warm_up", "kept_apart", 0.0, evidence)
    walls = sum(clock.length_ns(one.wall) for one in measured.timed_iterations)
    return Finding("warm_up", "in_the_figures", evidence["extra_seconds"] * NANOSECONDS / walls, evidence)


def _first_step(profile: Profile, measured: Measured) -> Finding | None:
    timed = measured.timed_iterations[0] if measured.timed_iterations else None
    # With a cache, the first step takes longer because it computes what later ones skip.
    if timed is None or timed.caches:
        return None
    place = next(number for number, one in enumerate(measured.iterations) if one is timed)
    samples = [step for step in step_samples(profile) if step.iteration == place]
    steps = [step for step in samples if step.scheduler == samples[0].scheduler]
    if len(steps) <= STEPS_TO_COMPARE.value or not _same_work(steps):
        return None
    evidence = _slow_first(steps[0].length_ns, [step.length_ns for step in steps[1:]], SLOW_FIRST_STEP)
    if evidence is None:
        return None
    wall_ns = clock_of(measured.iterations).length_ns(timed.wall)
    return Finding("warm_up", "first_step", evidence["extra_seconds"] * NANOSECONDS / wall_ns, evidence)


def _same_work(steps: list[StepSample]) -> bool:
    """Whether all steps were counted, and the first has no more MACs than the others."""
    macs = [step.macs for step in steps if step.macs is not None]
    return len(macs) == len(steps) and macs[0] <= median(macs[1:])


def _slow_first(first_ns: int, others_ns: list[int], ratio: Threshold) -> dict[str, float] | None:
    usual_ns = median(others_ns)
    if first_ns < ratio.value * usual_ns or first_ns - usual_ns < NOTICED.value * NANOSECONDS:
        return None
    return {
        "first_seconds": first_ns / NANOSECONDS,
        "usual_seconds": usual_ns / NANOSECONDS,
        "extra_seconds": (first_ns - usual_ns) / NANOSECONDS,
        "others": len(others_ns),
    }


INCOMPLETE_RUN = Rule(
    "incomplete_run",
    "An iteration failed; says which iterations the times are from.",
    ("others_ended", "none_ended"),
    (),
    incomplete_run,
)
UNSTABLE_TIMINGS = Rule(
    "unstable_timings",
    "Iterations of the same call took different times, so that a comparison with them cannot be trusted.",
    ("iterations",),
    (SPREAD, ITERATIONS_FOR_A_SPREAD),
    unstable_timings,
)
WARM_UP = Rule(
    "warm_up",
    "The first iteration, or the first step, is only warm-up: much slower than the same work later.",
    ("kept_apart", "in_the_figures", "first_step"),
    (SLOW_FIRST_ITERATION, SLOW_FIRST_STEP, STEPS_TO_COMPARE, NOTICED),
    warm_up,
)
