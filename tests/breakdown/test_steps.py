"""Denoising steps are told apart by scheduler and number, and stand beside the MACs that ran in them."""

from __future__ import annotations

import pytest

from diffprof.breakdown.steps import loop_table, loops_ns, median_rate, step_samples, step_table, timed_steps
from diffprof.record.measured import Iteration, Sample, Span, StepSpan
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, iteration, iteration_on
from tests.sample_profiles import UNET_MACS, measured_profile, nothing

MS = 1_000_000


def profile() -> Profile:
    """Three steps, the first twice as long, in two iterations of which the second is 10% slower, and a warm-up."""
    unet_ms = [200, 100, 100]
    runs = [iteration(unet_ms=unet_ms, times=times, warmup=times == 3) for times in (3, 1, 1.1)]
    return measured_profile(iterations=runs, steps=3)


def test_the_same_step_of_all_iterations_is_one_row() -> None:
    first, second, third = step_table(profile())
    # The step is the UNet, 1 ms of the pipeline's own code and 1 ms of the scheduler.
    assert (first.number, first.count, first.min_ns, first.max_ns) == (0, 2, 202 * MS, 222.2 * MS)
    assert first.median_ns == 212.1 * MS
    assert (second.median_ns, third.median_ns) == (107.1 * MS, 107.1 * MS)
    assert {row.scheduler for row in (first, second, third)} == {"scheduler"}


def test_the_time_before_a_step_is_listed_separately() -> None:
    assert [row.before_ns for row in step_table(profile())] == [None, 1.05 * MS, 1.05 * MS]


def test_a_step_has_the_macs_of_the_calls_in_it_and_their_rate() -> None:
    first = step_table(profile())[0]
    assert first.macs == UNET_MACS
    rates = [2 * UNET_MACS / 0.202, 2 * UNET_MACS / 0.2222]
    assert first.flops_per_second == pytest.approx(sum(rates) / 2)


def test_a_step_with_a_call_that_was_not_counted_has_no_macs() -> None:
    samples = (Sample("unet_forward", Span(0, 5), "unet", step=0, call=2), Sample("x", Span(5, 1), "y", step=0))
    one = Iteration(0, Span(0, 9), samples, (StepSpan("scheduler", 0, Span(0, 6)),))
    (row,) = step_table(measured_profile(iterations=[one]))
    assert (row.macs, row.flops_per_second) == (None, None)


def test_the_first_step_is_compared_with_the_others() -> None:
    (loop,) = loop_table(profile())
    assert (loop.steps, loop.first_ns, loop.later_ns) == (3, 212.1 * MS, 107.1 * MS)
    assert (loop.min_ns, loop.max_ns) == (102 * MS, 222.2 * MS)
    assert loop.between_ns == 2.1 * MS
    # 202 + 102 + 102 ms of steps and 2 ms between them, and a tenth more.
    assert loop.loop_ns == pytest.approx(1.05 * 408 * MS)
    assert loop.steps_per_second == pytest.approx((3 / 0.408 + 3 / 0.4488) / 2)


def test_a_single_step_has_no_others() -> None:
    (loop,) = loop_table(measured_profile(iterations=[iteration_on(CPU, steps=1)], steps=1))
    assert (loop.steps, loop.later_ns, loop.between_ns) == (1, None, 0)


def test_each_scheduler_has_its_own_loop() -> None:
    steps = (
        StepSpan("prior_scheduler", 0, Span(0, 10)),
        StepSpan("prior_scheduler", 1, Span(12, 10)),
        StepSpan("scheduler", 0, Span(50, 30)),
    )
    cascade = measured_profile(iterations=[Iteration(0, Span(0, 100), steps=steps)])
    assert [(row.scheduler, row.number) for row in step_table(cascade)] == [
        ("prior_scheduler", 0),
        ("prior_scheduler", 1),
        ("scheduler", 0),
    ]
    assert [(loop.scheduler, loop.steps, loop.loop_ns) for loop in loop_table(cascade)] == [
        ("prior_scheduler", 2, 22),
        ("scheduler", 1, 30),
    ]
    assert step_table(cascade)[2].before_ns is None
    assert loops_ns(timed_steps(cascade)[0]) == 52


def test_the_raw_steps_have_warm_ups_and_no_traced_call() -> None:
    runs = [iteration_on(CPU, steps=2, **{mark: True}) for mark in ("warmup", "traced")]
    samples = step_samples(measured_profile(iterations=[*runs, iteration_on(CPU, steps=2)], steps=2))
    assert [(one.iteration, one.warmup, one.number) for one in samples] == [
        (0, True, 0),
        (0, True, 1),
        (2, False, 0),
        (2, False, 1),
    ]


def test_where_nothing_was_measured_there_are_no_steps() -> None:
    assert step_table(nothing()) == loop_table(nothing()) == step_samples(nothing()) == []


def test_a_rate_over_no_time_is_not_known() -> None:
    assert median_rate([1], [0]) is None
    assert median_rate([], []) is None
    assert median_rate([1, 3], [1_000_000_000, 1_000_000_000]) == 2
