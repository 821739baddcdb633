"""Find repetitions in a record of allocations, which equal blocks of a model cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.record.allocations import Allocations

LEAST_TIMES = 4
"""The fewest repetitions for which looking for changes is worthwhile."""

LEAST_SAVED = 100
"""The fewest repeated events for which it is worthwhile."""


@dataclass(frozen=True)
class Stretch:
    """A range of events that is repeated `times` times."""

    numbers: Sequence[int]
    times: int


def stretches(allocations: Allocations) -> Sequence[Stretch]:
    """The sequence of events as stretches."""
    numbers = allocations.expand()
    found: list[Stretch] = []
    end = 0
    for run in _runs(allocations):
        if run.start > end:
            found.append(Stretch(numbers[end : run.start], 1))
        found.append(Stretch(numbers[run.start : run.start + run.period], run.times))
        end = run.end
    if end < len(numbers):
        found.append(Stretch(numbers[end:], 1))
    return found


@dataclass(frozen=True)
class _Run:
    """A periodic run of events from `start` on."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.times

    @property
    def is_worthwhile(self) -> bool:
        return self.times >= LEAST_TIMES and (self.times - 1) * self.period >= LEAST_SAVED


def _runs(allocations: Allocations) -> list[_Run]:
    """All worthwhile runs, in order and without overlaps.

    A reference that is longer than its distance repeats itself with that period. Any other reference copies the
    repetitions of the events it refers to.
    """
    runs: list[_Run] = []
    known, place = len(allocations.events), 0
    numbers = iter(allocations.order)
    for number in numbers:
        if number < known:
            place += 1
            continue
        distance, length = number - known, next(numbers)
        after = place + length
        own = _run(place - distance, after, distance, runs)
        copies = (
            _run(max(run.start + distance, place), min(run.end + distance, after), run.period, runs)
            for run in tuple(runs)
            if run.end + distance > place and run.start + distance < after
        )
        runs += [run for run in (own, *(() if own.is_worthwhile else copies)) if run.is_worthwhile]
        place = after
    return runs


def _run(start: int, end: int, period: int, before: Sequence[_Run]) -> _Run:
    """A run with as many whole periods as fit between two positions, after the earlier runs."""
    start = max(start, before[-1].end) if before else start
    return _Run(start, period, max(0, end - start) // period)
