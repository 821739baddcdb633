"""Where a record of allocations repeats itself: equal blocks of a model allocate alike, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from diffprof.record.allocations import Allocations

MOST_PERIODS = 16
"""Lengths that are tried, those of the longest repetitions first."""

LEAST_TIMES = 4
"""Repetitions from which on it is worth looking whether anything changes."""

LEAST_SAVED = 100
"""Events that are repeated, from which on it is."""

MOST_REMEMBERED = 100_000
"""Events of a sequence whose repetitions are remembered: longer ones are rare, and large."""


@dataclass(frozen=True)
class Stretch:
    """Numbers of events, as often in a row as `times` says."""

    numbers: Sequence[int]
    times: int


def stretches(allocations: Allocations) -> Sequence[Stretch]:
    """The whole sequence of events."""
    if len(allocations.expand()) > MOST_REMEMBERED:
        return [Stretch(allocations.expand(), 1)]
    return _stretches(allocations.order, len(allocations.events))


@lru_cache(maxsize=64)
def _stretches(order: tuple[int, ...], known: int) -> Sequence[Stretch]:
    """Remembered by the order: it is the same for many sizes of a model."""
    numbers = np.array(Allocations((None,) * known, order).expand(), dtype=np.int64)  # type: ignore[arg-type]
    return tuple(_split(numbers, _periods(order, known)))


def _periods(order: Sequence[int], known: int) -> list[int]:
    """How far back references go that are longer than that: such a reference repeats itself."""
    longest: dict[int, int] = {}
    places = iter(order)
    for number in places:
        if number >= known:
            distance, length = number - known, next(places)
            if length >= distance:
                longest[distance] = max(longest.get(distance, 0), length)
    return sorted(longest, key=lambda distance: -longest[distance])[:MOST_PERIODS]


def _split(numbers: npt.NDArray[np.int64], periods: Sequence[int]) -> list[Stretch]:
    """The largest repetition, and what lies before and after it split in the same way."""
    if not len(numbers):
        return []
    found = [(_longest_run(numbers, period), period) for period in periods if period < len(numbers)]
    runs = [(length // period * period, start, period) for (start, length), period in found]
    runs = [run for run in runs if run[0] >= max(LEAST_SAVED, (LEAST_TIMES - 1) * run[2])]
    if not runs:
        return [Stretch(numbers.tolist(), 1)]
    saved, start, period = max(runs)
    end = start + saved + period
    body = Stretch(numbers[start : start + period].tolist(), saved // period + 1)
    return [*_split(numbers[:start], periods), body, *_split(numbers[end:], periods)]


def _longest_run(numbers: npt.NDArray[np.int64], period: int) -> tuple[int, int]:
    """Where most numbers in a row equal those one period later, and how many do."""
    differs = np.flatnonzero(numbers[:-period] != numbers[period:])
    edges = np.concatenate(([-1], differs, [len(numbers) - period]))
    lengths = np.diff(edges) - 1
    place = int(np.argmax(lengths))
    return int(edges[place]) + 1, int(lengths[place])
