"""Rules about caches that do not help, and about weights that are moved too much."""

from __future__ import annotations

from collections.abc import Iterator

from diffprof.breakdown.caches import CacheRow, cache_table
from diffprof.breakdown.moves import move_table, move_totals, step_move_table
from diffprof.breakdown.moves import moved_each_step as components_moved_each_step
from diffprof.breakdown.shares import share
from diffprof.breakdown.steps import NANOSECONDS
from diffprof.findings.finding import Evidence, Finding, Rule, Threshold
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

MOVING = Threshold("busy_share", 0.25, "a quarter of the time is worth a change, and moving computes nothing")
LATER_LOOKUPS = Threshold("asked_again", 3, "the first lookup always misses, and the second may miss by chance")
RARE_HITS = Threshold("hit_share", 0.1, "nine times of ten the memory is held for nothing")
HELD_MEMORY = Threshold("held_bytes", 64 * 1024**2, "less is not needed elsewhere")


def offload_dominates(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The host spends a large share of the wall time moving weights, not counting moves that overlap other work."""
    rows = move_table(measured.timed_iterations)
    wall_ns = _wall_ns(measured)
    whole = move_totals(move for iteration in measured.timed_iterations for move in iteration.moves)
    busy_ns = whole.exposed_ns + whole.unknown_ns
    if not rows or share(busy_ns, wall_ns) < MOVING.value:
        return
    yield Finding(
        "offload_dominates",
        "busy",
        share(busy_ns, wall_ns),
        {
            "busy_seconds": busy_ns / NANOSECONDS,
            "busy_share": share(busy_ns, wall_ns),
            "wall_seconds": wall_ns / NANOSECONDS,
            "unknown_seconds": whole.unknown_ns / NANOSECONDS or None,
            "moved_bytes": whole.all_bytes,
            "moves": whole.times_in + whole.times_out,
            "component": rows[0].component,
            "component_seconds": rows[0].moved.spent_ns / NANOSECONDS,
        },
    )


def moved_each_step(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """A component is moved to the device again in every step in which it runs."""
    for component in components_moved_each_step(measured.timed_iterations):
        rows = [
            row
            for one in measured.timed_iterations
            for row in step_move_table(one)
            if row.step is not None and row.component == component
        ]
        busy_ns = sum(row.moved.spent_ns for row in rows)
        moved_bytes = sum(row.moved.all_bytes for row in rows)
        yield Finding(
            "moved_each_step",
            "in_again",
            share(busy_ns, _wall_ns(measured)),
            {
                "component": component,
                "steps": len(rows),
                "moved_bytes": moved_bytes,
                "step_bytes": moved_bytes // len(rows),
                "busy_seconds": busy_ns / NANOSECONDS,
                "busy_share": share(busy_ns, _wall_ns(measured)),
            },
        )


def _wall_ns(measured: Measured) -> int:
    return sum(iteration.wall.host_ns for iteration in measured.timed_iterations)


def cache_never_hits(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """A cache is looked up repeatedly but never hits."""
    for row in cache_table(profile):
        later = row.asks - _first_lookups(measured, row)
        if row.hits == 0 and later >= LATER_LOOKUPS.value:
            yield Finding("cache_never_hits", "no_hit", _held_share(measured, row), _evidence(row))


def cache_seldom_hits(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """A cache holds memory but rarely hits."""
    for row in cache_table(profile):
        if 0 < row.hit_rate < RARE_HITS.value and (row.held_bytes or 0) >= HELD_MEMORY.value:
            yield Finding("cache_seldom_hits", "few_hits", _held_share(measured, row), _evidence(row))


def _first_lookups(measured: Measured, row: CacheRow) -> int:
    """The number of lookups that cannot hit: the first of each module in each call of the pipeline."""
    lookups = [
        (number, event.module)
        for number, iteration in enumerate(measured.timed_iterations)
        for event in iteration.caches
        if (event.cache, event.component) == (row.cache, row.component)
    ]
    return len(set(lookups))


def _held_share(measured: Measured, row: CacheRow) -> float:
    return share(row.held_bytes or 0, measured.device.memory_bytes or 0)


def _evidence(row: CacheRow) -> Evidence:
    return {
        "cache": row.cache,
        "component": row.component,
        "hits": row.hits,
        "asks": row.asks,
        "hit_share": row.hit_rate,
        "held_bytes": row.held_bytes,
        "saved_macs_share": row.macs_saved_share,
    }


OFFLOAD_DOMINATES = Rule(
    "offload_dominates",
    "Moving weights between host and device takes a large part of the time.",
    ("busy",),
    (MOVING,),
    offload_dominates,
)
MOVED_EACH_STEP = Rule(
    "moved_each_step",
    "A component is moved to the device again in each denoising step that it runs in, of at least two.",
    ("in_again",),
    (),
    moved_each_step,
)
CACHE_NEVER_HITS = Rule(
    "cache_never_hits",
    "A cache is looked up again and again and never hits.",
    ("no_hit",),
    (LATER_LOOKUPS,),
    cache_never_hits,
)
CACHE_SELDOM_HITS = Rule(
    "cache_seldom_hits",
    "A cache holds memory and seldom hits.",
    ("few_hits",),
    (RARE_HITS, HELD_MEMORY),
    cache_seldom_hits,
)
