"""Sets of times as sorted, disjoint intervals: union, difference, length. All in integer nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffprof.traces.reading.columns import Ints


@dataclass(frozen=True)
class Intervals:
    """The times from each `start` up to its `end`; sorted and disjoint."""

    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.start)

    @property
    def length(self) -> int:
        return int((self.end - self.start).sum())

    def minus(self, other: Intervals) -> Intervals:
        """The times in this set that are not in the other."""
        times = np.concatenate((self.start, self.end, other.start, other.end))
        # The state after each time is the sum of all openings and closings up to it.
        here = np.repeat((1, -1, 0, 0), (len(self), len(self), len(other), len(other)))
        there = np.repeat((0, 0, 1, -1), (len(self), len(self), len(other), len(other)))
        order = np.argsort(times, kind="stable")
        times = times[order]
        inside = (np.cumsum(here[order]) > 0) & (np.cumsum(there[order]) == 0)
        return union(times[:-1][inside[:-1]], times[1:][inside[:-1]])

    def gaps(self) -> Intervals:
        """The times between the first and the last interval that are in no interval."""
        return Intervals(self.end[:-1], self.start[1:])


def union(start: Ints, end: Ints) -> Intervals:
    """The times in any of the intervals, which may overlap and be in any order; empty ones add nothing."""
    not_empty = end > start
    order = np.argsort(start[not_empty], kind="stable")
    start, end = start[not_empty][order], end[not_empty][order]
    if not len(start):
        return Intervals(start, end)
    reach = np.maximum.accumulate(end)
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Intervals(start[first], reach[last])


def covered_lengths(busy: Intervals, start: Ints, end: Ints) -> Ints:
    """How much of each interval is in `busy`; the intervals may overlap."""
    if not len(busy):
        return np.zeros_like(start)
    before: Ints = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(busy.end - busy.start)))

    def covered_until(time: Ints) -> Ints:
        place = np.searchsorted(busy.start, time, side="right")
        # The last interval that began may go on after that time.
        over: Ints = np.where(place > 0, np.maximum(busy.end[place - 1] - time, 0), 0)
        return before[place] - over

    return covered_until(end) - covered_until(start)
