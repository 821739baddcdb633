"""``timing_summary.txt``: the guides' tables for a measured run, as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.breakdown.clocks import DEVICE, HOST, Clock, clock_of
from diffprof.breakdown.memory_peaks import MemoryMoment, memory_moments
from diffprof.breakdown.sections import SectionRow, section_table, warm_ups
from diffprof.breakdown.spreads import spread_of
from diffprof.breakdown.steps import step_samples, timed_steps
from diffprof.record.measured import Iteration, Measured
from diffprof.record.profile import Profile
from diffprof.render.clean import clean
from diffprof.render.guides.memory_summary import memory_summary
from diffprof.render.guides.timing_summary import iteration_summary, timing_summary
from diffprof.render.headline import headline
from diffprof.render.numbers import nanoseconds, times
from diffprof.render.run_sentences import device_line, note_lines, require_measured, speed_lines
from diffprof.render.run_tables import moment_label

SECOND = 1e9


def timing_text(profile: Profile) -> str:
    """The text of the file: request, sections by total time, generations, denoising steps and memory."""
    measured = require_measured(profile)
    parts = [
        "\n".join(clean(line) for line in (headline(profile), device_line(profile, measured.device))),
        _lines(speed_lines(profile, measured)),
        _sections(measured),
        iteration_summary(_generations(measured)),
        *(iteration_summary(loop) for loop in _loops(profile)),
        memory_summary({"snapshots": memory_log(profile), "findings": []}),
        _lines(note_lines(profile, measured)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def memory_log(profile: Profile) -> list[dict[str, Any]]:
    """The moments of all iterations as entries of the guides' memory log; unknown values are left out."""
    return [_snapshot(moment) for moment in memory_moments(profile)]


def _lines(labelled: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{label}: {clean(line)}" for label, line in labelled)


def _sections(measured: Measured) -> str:
    timed = measured.timed_iterations
    by_host = {row.section: _statistics(row) for row in section_table(timed, HOST)}
    clock = clock_of(timed)
    if clock == DEVICE:
        for row in section_table(timed, DEVICE):
            by_host[row.section]["device"] = _statistics(row)
    ordered = {row.section: by_host[row.section] for row in section_table(timed, clock)}
    wall = nanoseconds(sum(clock.length_ns(one.wall) for one in timed))
    note = f"{wall} of wall time in {times(len(timed), 'iteration')}; a section contains those that ran inside it"
    return f"{timing_summary(ordered, top_n=None)}\n{note}"


def _statistics(row: SectionRow) -> dict[str, Any]:
    seconds = {name: getattr(row.times, f"{name}_ns") / SECOND for name in ("total", "mean", "min", "max")}
    return {"count": row.times.count, "errors": row.failures, **seconds}


def _generations(measured: Measured) -> Mapping[str, Any]:
    clock = clock_of(measured.iterations)
    failed = sum(one.error is not None for one in measured.timed_iterations)
    return _series("generations", _walls(measured.timed_iterations, clock), _walls(warm_ups(measured), clock), failed)


def _walls(iterations: Sequence[Iteration], clock: Clock) -> list[int]:
    return [clock.length_ns(one.wall) for one in iterations]


def _loops(profile: Profile) -> list[Mapping[str, Any]]:
    timed = [step for steps in timed_steps(profile) for step in steps]
    warm_up = [step for step in step_samples(profile) if step.warmup] if not all(one.warmup for one in timed) else []
    names = dict.fromkeys(step.scheduler for step in timed)
    return [
        _series(
            "denoising_steps" if len(names) == 1 else f"denoising_steps of {name}",
            [step.length_ns for step in timed if step.scheduler == name],
            [step.length_ns for step in warm_up if step.scheduler == name],
        )
        for name in names
    ]


def _series(name: str, timed: Sequence[int], warm_up: Sequence[int], failed: int = 0) -> Mapping[str, Any]:
    return {
        "name": name,
        "statistics": _spread_statistics(timed, failed) if timed else None,
        "warm_up_statistics": _spread_statistics(warm_up) if warm_up else None,
        "first": next(iter([*warm_up, *timed]), 0) / SECOND,
    }


def _spread_statistics(times_ns: Sequence[int], failed: int = 0) -> dict[str, Any]:
    spread = spread_of(times_ns)
    std_ns = spread.std_ns or 0
    return {
        "count": spread.count,
        "mean": spread.mean_ns / SECOND,
        "median": spread.median_ns / SECOND,
        "min": spread.min_ns / SECOND,
        "max": spread.max_ns / SECOND,
        "std": std_ns / SECOND,
        "spread": std_ns / spread.mean_ns if spread.mean_ns else 0.0,
        "errors": failed,
    }


def _snapshot(moment: MemoryMoment) -> dict[str, Any]:
    sizes = {name: value for name, value in vars(moment).items() if name.endswith("_bytes") and value is not None}
    return {"label": moment_label(moment, several=True), **sizes}
