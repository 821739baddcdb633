"""Runs that did not end, iterations that differ, and warm-up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.findings import findings
from diffprof.record.measured import CacheEvent
from diffprof.record.profile import Work
from tests.findings.problems import ended_by_error, findings_of_kind, the_finding
from tests.sample_iterations import interrupted, iteration
from tests.sample_profiles import measured_profile


def test_only_completed_iterations_are_evaluated() -> None:
    finding = the_finding(measured_profile(iterations=[iteration(), iteration(), ended_by_error()]), "incomplete_run")
    assert (finding.case, finding.stake) == ("others_ended", 1)
    evidence = finding.evidence
    assert (evidence["failed"], evidence["iterations"], evidence["timed"]) == (1, 3, 2)
    assert evidence["error"] == "KeyboardInterrupt"


def test_a_call_that_was_cut_short_says_how_far_it_got() -> None:
    cut = interrupted(iteration(), at_ms=5_000)
    finding = the_finding(measured_profile(iterations=[cut]), "incomplete_run")
    assert finding.case == "none_ended"
    assert finding.evidence["until_seconds"] == pytest.approx(5)
    assert finding.evidence["steps"] == len(cut.steps)


@pytest.mark.parametrize(("longest", "unstable"), [(1.08, False), (1.1, True)])
def test_a_spread_of_five_percent_is_unstable(longest: float, unstable: bool) -> None:
    profile = measured_profile(iterations=[iteration(times=times) for times in (1, 1, longest)])
    assert bool(findings_of_kind(profile, "unstable_timings")) is unstable


def test_two_iterations_show_no_spread() -> None:
    assert not findings_of_kind(measured_profile(iterations=[iteration(), iteration(times=1.4)]), "unstable_timings")


def test_the_spread_is_the_deviation_over_the_mean() -> None:
    walls = [one.wall.host_ns for one in (iteration(times=times) for times in (1, 2, 3))]
    finding = the_finding(
        measured_profile(iterations=[iteration(times=times) for times in (1, 2, 3)]), "unstable_timings"
    )
    assert finding.evidence["spread_share"] == pytest.approx((walls[1] - walls[0]) / walls[1])


def test_warm_up_does_not_make_the_others_unstable() -> None:
    rules = [
        finding.rule for finding in findings(measured_profile(iterations=[iteration(times=3), *[iteration()] * 3]))
    ]
    assert "warm_up" in rules
    assert "unstable_timings" not in rules


@pytest.mark.parametrize(("times", "slow"), [(1.49, False), (1.5, True)])
@pytest.mark.parametrize("warmup", [True, False])
def test_a_first_iteration_that_takes_half_as_long_again_is_warm_up(times: float, slow: bool, warmup: bool) -> None:
    profile = measured_profile(iterations=[iteration(times=times, warmup=warmup), iteration(), iteration()])
    cases = [finding.case for finding in findings_of_kind(profile, "warm_up")]
    assert cases == (["kept_apart" if warmup else "in_the_figures"] if slow else [])


def test_a_warm_up_without_later_iterations_is_evaluated() -> None:
    profile = measured_profile(iterations=[iteration(times=3, warmup=True), iteration(warmup=True)])
    assert the_finding(profile, "warm_up").case == "in_the_figures"


def test_a_negligible_warm_up_is_not_a_finding() -> None:
    short = [iteration(times=times / 1_000) for times in (3, 1, 1)]
    assert not findings_of_kind(measured_profile(iterations=short), "warm_up")


def test_an_iteration_that_was_traced_is_not_compared_with() -> None:
    profile = measured_profile(iterations=[iteration(times=3), iteration(times=2), iteration(traced=True)])
    assert the_finding(profile, "warm_up").evidence["others"] == 1


@pytest.mark.parametrize(("first", "slow"), [(1_990, False), (2_010, True)])
def test_a_first_step_that_takes_twice_as_long_is_warm_up(first: float, slow: bool) -> None:
    profile = measured_profile(iterations=[iteration(unet_ms=[first, 1_000, 1_000, 1_000])])
    assert bool(findings_of_kind(profile, "warm_up")) is slow


def test_three_steps_are_too_few_to_recognize_a_slow_one() -> None:
    assert not findings_of_kind(
        measured_profile(iterations=[iteration(unet_ms=[9_000, 1_000, 1_000])], steps=3), "warm_up"
    )


def test_a_first_step_that_computes_more_is_not_warm_up() -> None:
    profile = measured_profile(iterations=[iteration(unet_ms=[9_000, 1_000, 1_000, 1_000])])
    place, first = next((number, call) for number, call in enumerate(profile.calls) if call.step == 0)
    more = replace(first, cost=replace(first.cost, work=first.work + Work(macs=1)))
    calls = (*profile.calls[:place], more, *profile.calls[place + 1 :])
    assert findings_of_kind(profile, "warm_up")
    assert not findings_of_kind(replace(profile, calls=calls), "warm_up")


def test_a_first_step_that_fills_a_cache_is_not_warm_up() -> None:
    events = (CacheEvent("FirstBlockCache", False, 0, 0, "unet"),)
    slow_first = iteration(unet_ms=[9_000, 1_000, 1_000, 1_000], caches=events)
    assert not findings_of_kind(measured_profile(iterations=[slow_first]), "warm_up")
