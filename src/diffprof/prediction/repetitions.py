"""Find repetitions in a record of allocations, which equal blocks of a model cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diffprof.record.allocations import Allocations

LEAST_TIMES = 4
"""The fewest repetitions for which looking for changes is worthwhile, unless there are others among their events."""

LEAST_SAVED = 100
"""The fewest repeated events for which it is worthwhile."""


@dataclass(frozen=True)
class Stretch:
    """A range of events that is repeated `times` times."""

    numbers: Sequence[int]
    times: int
    parts: tuple[Stretch, ...] = ()
    """The same events as shorter stretches, if some of them are repeated."""


def stretches(allocations: Allocations) -> Sequence[Stretch]:
    """The sequence of events as stretches."""
    numbers = allocations.expand()
    return _between(numbers, _runs(allocations), 0, len(numbers))


def _between(numbers: Sequence[int], runs: Sequence[_Run], start: int, end: int) -> list[Stretch]:
    """The events between two positions as stretches."""
    found: list[Stretch] = []
    for run in runs:
        if run.start > start:
            found.append(Stretch(numbers[start : run.start], 1))
        body = run.start + run.period
        parts = _between(numbers, run.inner, run.start, body) if run.inner else ()
        found.append(Stretch(numbers[run.start : body], run.times, tuple(parts)))
        start = run.end
    if start < end:
        found.append(Stretch(numbers[start:end], 1))
    return found


@dataclass(frozen=True)
class _Run:
    """A periodic run of events from `start` on."""

    start: int
    period: int
    times: int
    inner: tuple[_Run, ...] = ()
    """The runs in its first period."""

    @property
    def end(self) -> int:
        return self.start + self.period * self.times

    @property
    def is_worthwhile(self) -> bool:
        least = 2 if self.inner else LEAST_TIMES
        return self.times >= least and (self.times - 1) * self.period >= LEAST_SAVED

    def moved(self, distance: int) -> _Run:
        return _Run(self.start + distance, self.period, self.times, tuple(one.moved(distance) for one in self.inner))

    def between(self, start: int, end: int) -> Iterator[_Run]:
        """The part of the run between two positions: as many whole periods as there are, and runs in the rest."""
        start, end = max(start, self.start), min(end, self.end)
        times = max(0, end - start) // self.period
        whole = _Run(start, self.period, times, tuple(self._inner_from(start)))
        if whole.is_worthwhile:
            yield whole
            start = whole.end
        for number in range((start - self.start) // self.period, self.times):
            for one in self.inner:
                yield from one.moved(self.period * number).between(start, end)

    def _inner_from(self, start: int) -> Iterator[_Run]:
        """The inner runs in the first period, if it begins at another position."""
        for one in self.inner:
            offset = (one.start - start) % self.period
            if offset + one.period * one.times <= self.period:
                yield one.moved(start + offset - one.start)


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
        own = _repeated(place - distance, after, distance, runs)
        if own.is_worthwhile:
            runs.append(own)
            place = own.end
        for begin in range(place, after, distance):
            runs += _copies(begin, min(begin + distance, after), distance, runs)
        place = after
    return runs


def _repeated(begin: int, end: int, period: int, before: Sequence[_Run]) -> _Run:
    """A run with as many whole periods as fit between two positions, after the earlier runs.

    Earlier runs between them recur in each of its periods.
    """
    start = max(begin, before[-1].end) if before else begin
    again = [one.moved(period) for run in before if run.end > begin for one in run.between(begin, start)]
    inner = tuple(one for one in again if one.start >= start)
    return _Run(start, period, max(0, end - start) // period, inner)


def _copies(start: int, end: int, distance: int, before: Sequence[_Run]) -> list[_Run]:
    """The runs between two positions, which copies those of `distance` earlier."""
    found = []
    for run in before:
        if run.end + distance > start and run.start + distance < end:
            found += [one for one in run.moved(distance).between(start, end) if one.is_worthwhile]
    return found
