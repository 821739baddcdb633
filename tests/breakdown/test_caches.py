"""Hits and misses are counted exactly; seconds saved are an estimate that says what it rests on."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.breakdown.caches import CacheRow, CacheStep, cache_table, cache_timeline
from diffprof.record.measured import CacheEvent, Iteration
from diffprof.record.profile import Profile
from tests.sample_iterations import MILLISECOND, iteration
from tests.sample_profiles import UNET_MACS, measured_profile, nothing

FIRST_BLOCK = "FirstBlockCache"


def run(hits: tuple[bool, ...], unet_ms: tuple[float, ...], **fields: Any) -> Iteration:
    """One step for each figure; in each the cache is asked once."""
    plain = iteration(unet_ms=unet_ms)
    calls = [sample for sample in plain.samples if sample.component == "unet"]
    events = [
        CacheEvent(FIRST_BLOCK, hit, call.span.start_ns + 5, step, "unet", "blocks.0")
        for step, (hit, call) in enumerate(zip(hits, calls, strict=True))
    ]
    return iteration(unet_ms=unet_ms, caches=tuple(events), **fields)


def profile(**measured: Any) -> Profile:
    """Misses of 100, 120 and 90 ms, a hit of 20 ms; then the same with the hit at 30 ms."""
    hits = (False, False, True, False)
    return measured_profile(iterations=[run(hits, (100, 120, last, 90)) for last in (20, 30)], **measured)


def only(rows: list[CacheRow]) -> CacheRow:
    (row,) = rows
    return row


def test_hits_and_misses_are_counted_over_the_timed_iterations() -> None:
    row = only(cache_table(profile()))
    assert (row.cache, row.component) == (FIRST_BLOCK, "unet")
    assert (row.asks, row.hits, row.misses, row.hit_rate) == (8, 2, 6, 0.25)
    assert row.hit_steps == (2,)


def test_warm_ups_are_not_counted() -> None:
    warm_up = run((True,), (50,), warmup=True)
    made = measured_profile(iterations=[warm_up, run((False,), (100,))], steps=1)
    assert only(cache_table(made)).hits == 0


def test_the_timeline_has_every_step() -> None:
    assert [(one.step, one.hits, one.misses) for one in cache_timeline(profile())] == [
        (0, 0, 2),
        (1, 0, 2),
        (2, 2, 0),
        (3, 0, 2),
    ]


def test_macs_saved_are_what_it_would_have_done_less_what_it_did() -> None:
    row = only(cache_table(profile(nominal_macs={"unet": 5 * UNET_MACS})))
    assert row.macs_saved == UNET_MACS
    assert row.macs_saved_share == pytest.approx(0.2)


def test_without_a_nominal_count_there_are_no_saved_macs() -> None:
    row = only(cache_table(profile()))
    assert (row.macs_saved, row.macs_saved_share) == (None, None)


def test_seconds_saved_are_estimated_from_the_calls_without_a_hit() -> None:
    row = only(cache_table(profile()))
    # The median of 100, 120 and 90 is 100: 80 ms were saved in the first iteration, 70 in the second.
    assert row.ns_saved == 75 * MILLISECOND
    assert row.compared_calls == 6


def test_where_every_call_had_a_hit_there_is_nothing_to_estimate_from() -> None:
    row = only(cache_table(measured_profile(iterations=[run((True, True), (10, 10))], steps=2)))
    assert (row.ns_saved, row.compared_calls, row.hit_rate) == (None, 0, 1.0)


def test_a_cache_that_never_hit_saved_nothing() -> None:
    row = only(cache_table(measured_profile(iterations=[run((False, False), (10, 10))], steps=2)))
    assert (row.ns_saved, row.compared_calls, row.hit_steps) == (0, 2, ())


def test_a_programs_own_cache_stands_apart_with_the_memory_it_holds() -> None:
    own = (CacheEvent("kv", True, 5), CacheEvent("kv", False, 6, step=0))
    made = measured_profile(iterations=[iteration(caches=own)], cached_bytes={"kv": 1024})
    row = only(cache_table(made))
    assert (row.component, row.held_bytes, row.hits, row.hit_steps) == (None, 1024, 1, ())
    assert (row.ns_saved, row.macs_saved, row.compared_calls) == (None, None, 0)
    assert cache_timeline(made) == [CacheStep("kv", None, None, 1, 0), CacheStep("kv", None, 0, 0, 1)]


def test_without_caches_there_are_no_rows() -> None:
    assert cache_table(measured_profile()) == cache_table(nothing()) == cache_timeline(nothing()) == []
