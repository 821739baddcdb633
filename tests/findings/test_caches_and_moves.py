"""Caches that do not help, and weights that are moved too much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.record.measured import CacheEvent
from tests.findings.problems import MIB, findings_of_kind, moving, the_finding, with_cache_events
from tests.sample_iterations import iteration
from tests.sample_profiles import measured_profile


@pytest.mark.parametrize(("asks", "never"), [(3, False), (4, True)])
def test_a_cache_that_missed_three_times_after_the_first_never_hits(asks: int, never: bool) -> None:
    assert bool(findings_of_kind(with_cache_events([False] * asks), "cache_never_hits")) is never


def test_the_first_miss_of_each_module_is_not_evidence() -> None:
    events = tuple(CacheEvent("PyramidAttentionBroadcast", False, 0, 0, "unet", f"blocks.{n}") for n in range(20))
    assert not findings_of_kind(measured_profile(iterations=[iteration(caches=events)] * 3), "cache_never_hits")


def test_a_cache_that_hits_once_does_hit() -> None:
    assert not findings_of_kind(with_cache_events([False] * 9 + [True]), "cache_never_hits")


@pytest.mark.parametrize(("misses", "seldom"), [(9, False), (10, True)])
def test_one_hit_in_ten_is_enough_for_its_memory(misses: int, seldom: bool) -> None:
    profile = with_cache_events([False] * misses + [True], FirstBlockCache=512 * MIB)
    assert bool(findings_of_kind(profile, "cache_seldom_hits")) is seldom


@pytest.mark.parametrize("held", [{}, {"FirstBlockCache": 63 * MIB}])
def test_a_cache_that_holds_little_may_hit_seldom(held: dict[str, int]) -> None:
    assert not findings_of_kind(with_cache_events([False] * 19 + [True], **held), "cache_seldom_hits")


def test_the_evidence_of_a_cache_says_what_it_holds() -> None:
    profile = with_cache_events([False] * 19 + [True], FirstBlockCache=512 * MIB)
    evidence = the_finding(profile, "cache_seldom_hits").evidence
    assert (evidence["hits"], evidence["asks"], evidence["held_bytes"]) == (1, 20, 512 * MIB)
    assert (evidence["cache"], evidence["component"]) == ("FirstBlockCache", "unet")


@pytest.mark.parametrize(("milliseconds", "dominates"), [(690, False), (700, True)])
def test_offloading_dominates_from_a_quarter_of_the_time(milliseconds: float, dominates: bool) -> None:
    profile = moving(milliseconds)  # four times, in a call of 11.1 s
    assert bool(findings_of_kind(profile, "offload_dominates")) is dominates


def test_what_is_moved_beside_other_work_takes_no_time() -> None:
    assert not findings_of_kind(moving(1_000, hidden=True), "offload_dominates")


def test_moves_that_may_have_been_hidden_are_counted_and_mentioned() -> None:
    evidence = the_finding(moving(1_000, hidden=None), "offload_dominates").evidence
    assert (evidence["busy_seconds"], evidence["unknown_seconds"]) == (pytest.approx(4), pytest.approx(4))
    assert the_finding(moving(1_000, hidden=False), "offload_dominates").evidence["unknown_seconds"] is None


def test_a_component_that_comes_in_again_in_each_step_is_named() -> None:
    evidence = the_finding(moving(1), "moved_each_step").evidence
    assert (evidence["component"], evidence["steps"]) == ("unet", 4)
    assert (evidence["step_bytes"], evidence["moved_bytes"]) == (4_000_000_000, 16_000_000_000)


@pytest.mark.parametrize("moved_in", [1, 3])
def test_a_component_that_stays_in_some_step_is_not(moved_in: int) -> None:
    assert not findings_of_kind(moving(1, moved_in=moved_in), "moved_each_step")


def test_one_step_is_not_each_step() -> None:
    assert not findings_of_kind(moving(1, steps=1, moved_in=1), "moved_each_step")


def test_a_cache_of_the_programs_own_belongs_to_no_component() -> None:
    own = tuple(CacheEvent("kv", False, 0, step) for step in range(5))
    profile = measured_profile(iterations=[replace(iteration(), caches=own)])
    assert the_finding(profile, "cache_never_hits").evidence["component"] is None
