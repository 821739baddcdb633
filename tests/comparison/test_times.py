"""What the times of two runs tell, and when they tell nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from diffprof.breakdown.sections import BETWEEN
from diffprof.comparison.times import (
    CALL,
    CPU_TIME,
    FASTER,
    NONE_SHOWN,
    ONLY_ONE,
    SLOWER,
    STEP,
    TOO_BUSY,
    TOO_FEW,
    Outlier,
    TimeChange,
    cpu_share,
    time_changes,
)
from diffprof.record.profile import Profile
from tests.comparison.noise import SECOND, quiet, run_of
from tests.sample_iterations import CPU, iteration_on
from tests.sample_profiles import measured_profile, stable_diffusion


def call_of(before: Profile, after: Profile) -> TimeChange:
    return next(change for change in time_changes(before, after) if change.name == CALL)


def steady(count: int, *, vae_ms: float = 3_000) -> Profile:
    """So many iterations of Stable Diffusion on a CPU that differ by up to 1 %."""
    source = random.Random(count)
    runs = [iteration_on(CPU, vae_ms=vae_ms, times=source.uniform(0.995, 1.005)) for _ in range(count)]
    return measured_profile(iterations=[iteration_on(CPU, times=9, warmup=True), *runs])


@pytest.mark.parametrize(("slowdown", "verdict"), [(1.1, SLOWER), (0.9, FASTER), (1.0, NONE_SHOWN)])
def test_twenty_samples_show_a_change_of_ten_percent(slowdown: float, verdict: str) -> None:
    source = random.Random(1)
    change = call_of(run_of(quiet(source, 20)), run_of(quiet(source, 20, slowdown)))
    assert change.verdict == verdict
    assert change.ratio is not None
    assert change.ratio.ratio == pytest.approx(slowdown, rel=0.03)


def test_differences_below_one_percent_count_only_in_interleaved_runs() -> None:
    """From one process to the next, the same code differs by as much."""
    before = [SECOND + 1_000 * number for number in range(20)]
    after = [round(1.008 * time) for time in before]
    assert call_of(run_of(before), run_of(after)).verdict == NONE_SHOWN
    assert call_of(run_of(before, turns="x"), run_of(after, turns="x")).verdict == SLOWER
    assert call_of(run_of(before), run_of([round(1.02 * time) for time in before])).verdict == SLOWER


def test_three_samples_are_inconclusive() -> None:
    change = call_of(run_of([SECOND] * 3), run_of([2 * SECOND] * 3))
    assert (change.verdict, change.ratio) == (TOO_FEW, None)
    assert change.before is not None and change.after is not None
    assert (change.before.median_ns, change.after.median_ns) == (SECOND, 2 * SECOND)


def test_warm_ups_are_not_in_it() -> None:
    source = random.Random(2)
    before, after = run_of(quiet(source, 20), warmups=[90 * SECOND] * 5), run_of(quiet(source, 20))
    change = call_of(before, after)
    assert change.verdict == NONE_SHOWN
    assert change.before is not None and change.before.count == 20


def test_outliers_are_named_by_their_number_in_the_profile() -> None:
    times = [SECOND + 1_000_000 * number for number in range(10)]
    before = run_of([*times, 3 * SECOND], warmups=[SECOND])
    change = call_of(before, run_of(times))
    assert change.before is not None and change.after is not None
    assert change.before.outliers == (Outlier(11, 3 * SECOND),)
    assert change.after.outliers == ()


def test_sections_and_steps_are_compared_each_for_itself() -> None:
    changes = {change.name: change for change in time_changes(steady(10), steady(12, vae_ms=4_000))}
    assert list(changes)[:2] == [CALL, STEP]
    slower = [name for name, change in changes.items() if change.verdict == SLOWER]
    assert slower == [CALL, "vae_decode"]
    assert changes["vae_decode"].ratio is not None
    assert changes["vae_decode"].ratio.ratio == pytest.approx(4 / 3, rel=0.01)
    assert {changes[name].verdict for name in (STEP, "unet_forward", "encode_prompt", BETWEEN)} == {NONE_SHOWN}


def test_each_iteration_gives_one_sample_of_a_section_however_often_it_ran() -> None:
    changes = {change.name: change for change in time_changes(steady(10), steady(10))}
    unet = changes["unet_forward"].before
    assert unet is not None and unet.count == 10
    assert unet.median_ns == pytest.approx(4 * 2 * SECOND, rel=0.01)
    step = changes[STEP].before
    assert step is not None and step.median_ns == pytest.approx(2 * SECOND, rel=0.01)


def test_a_section_in_only_one_profile_is_marked() -> None:
    profile = steady(10)
    assert profile.measured is not None
    without = [
        replace(one, samples=tuple(sample for sample in one.samples if sample.section != "postprocess"))
        for one in profile.measured.iterations
    ]
    other = replace(profile, measured=replace(profile.measured, iterations=tuple(without)))
    change = next(one for one in time_changes(profile, other) if one.name == "postprocess")
    assert (change.verdict, change.after, change.ratio) == (ONLY_ONE, None, None)


def test_a_run_short_of_cpu_is_inconclusive_unless_interleaved() -> None:
    source = random.Random(3)
    before, after = quiet(source, 20), quiet(source, 20, 1.1)
    waited = run_of(after, device=CPU, cpu_share=0.4)
    assert cpu_share(waited.measured) == pytest.approx(0.4, rel=0.01) if waited.measured else False
    assert {change.verdict for change in time_changes(run_of(before, device=CPU, cpu_share=1), waited)} == {TOO_BUSY}
    in_turns = [run_of(times, device=CPU, cpu_share=0.4, turns="x") for times in (before, after)]
    changes = time_changes(*in_turns)
    assert {change.name: change.verdict for change in changes} == {CALL: SLOWER, CPU_TIME: SLOWER}
    assert all(change.in_turns for change in changes)


def test_only_runs_of_one_measurement_are_pairs() -> None:
    source = random.Random(4)
    one, other = quiet(source, 20), quiet(source, 20)
    assert not call_of(run_of(one, turns="x"), run_of(other, turns="y")).in_turns
    assert not call_of(run_of(one, turns="x"), run_of(other[:15], turns="x")).in_turns
    assert not call_of(run_of(one), run_of(other)).in_turns


def test_the_cpu_time_is_used_on_a_cpu_only() -> None:
    source = random.Random(5)
    on_gpu = [run_of(quiet(source, 20), cpu_share=0.2) for _ in range(2)]
    assert [change.name for change in time_changes(*on_gpu)] == [CALL]
    assert cpu_share(on_gpu[0].measured) is None if on_gpu[0].measured else False


def test_a_profile_that_was_only_counted_has_no_times() -> None:
    assert time_changes(stable_diffusion(), run_of([SECOND] * 20)) == ()
