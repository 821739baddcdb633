"""Write repetitions in sequences as loops, so that the number of repetitions becomes a value.

The events of a generation with 20 and with 30 steps differ in length; folded, they differ only in one count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from diffprof.errors import DiffprofError


class NegativeCount(DiffprofError):
    """A loop with a negative count: the sequence has another form for this request."""


LOOP = "loop"
"""A loop is a tuple of this word, the number of repetitions, and the repeated items."""


def fold(sequence: Sequence[Hashable]) -> tuple[Any, ...]:
    """Replace all direct repetitions by loops, shortest period first."""
    symbols: dict[Hashable, int] = {}
    numbers = [symbols.setdefault(item, len(symbols)) for item in sequence]
    meaning: list[Any] = list(symbols)
    loops: dict[tuple[int, tuple[int, ...]], int] = {}
    period: int | None = 1
    while period is not None and 2 * period <= len(numbers):
        numbers = _fold_period(numbers, period, loops, meaning)
        period = period + 1 if period < LONGEST_TRIED else _next_period(numbers, period)
    return tuple(meaning[number] for number in numbers)


LONGEST_TRIED = 32
"""Periods up to this length are all tried; longer ones only if stretches recur at that distance."""
STRETCH = 16


def _next_period(numbers: list[int], after: int) -> int | None:
    """Return the next larger distance at which half of a period's stretches recur; None if there is none.

    Trying every distance would take hours for a video that is decoded frame by frame.
    """
    import numpy

    count = len(numbers) - STRETCH + 1
    if count < 2:
        return None
    array = numpy.asarray(numbers, dtype=numpy.uint64) + numpy.uint64(1)
    stretches = numpy.zeros(count, dtype=numpy.uint64)
    for place in range(STRETCH):  # a 64-bit hash of each stretch, with unsigned overflow
        stretches = stretches * numpy.uint64(6364136223846793005) + array[place : place + count]
    order = numpy.argsort(stretches, kind="stable")
    same = stretches[order][1:] == stretches[order][:-1]
    distances, found = numpy.unique(numpy.diff(order)[same], return_counts=True)
    likely = distances[(distances > after) & (2 * found >= distances - STRETCH)]
    return int(likely[0]) if len(likely) else None


def _fold_period(
    numbers: list[int], period: int, loops: dict[tuple[int, tuple[int, ...]], int], meaning: list[Any]
) -> list[int]:
    """Replace every repetition of this period by the number of a loop."""
    runs = _runs(numbers, period)
    if not runs:
        return numbers
    folded: list[int] = []
    place = 0
    for start, length in runs:
        if start < place:
            length -= place - start
            start = place
        count = length // period + 1
        if count < 2:
            continue
        body = tuple(numbers[start : start + period])
        folded += numbers[place:start]
        key = (count, body)
        if key not in loops:
            loops[key] = len(meaning)
            meaning.append((LOOP, count, tuple(meaning[number] for number in body)))
        folded.append(loops[key])
        place = start + count * period
    return folded + numbers[place:]


def _runs(numbers: list[int], period: int) -> list[tuple[int, int]]:
    """Return where at least `period` consecutive numbers equal those one period later, and how many."""
    import numpy  # only deriving laws folds sequences

    array = numpy.asarray(numbers)
    equal = array[:-period] == array[period:]
    if int(equal.sum()) < period:
        return []
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([False], equal, [False]))))
    return [(start, end - start) for start, end in edges.reshape(-1, 2).tolist() if end - start >= period]


def is_loop(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 3 and item[0] == LOOP


def unfold(sequence: Iterable[Any]) -> list[Any]:
    """Return the original sequence of a folded one."""
    items: list[Any] = []
    for item in sequence:
        if is_loop(item):
            if item[1] < 0:
                raise NegativeCount("something would be repeated less than 0 times")
            items += unfold(item[2]) * item[1]
        else:
            items.append(item)
    return items
