"""Sequences with their repetitions written as loops, so that how often something is repeated becomes a number.

The events of a generation with 20 and with 30 steps differ in length; folded, they differ in one count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from diffprof.errors import DiffprofError


class NegativeCount(DiffprofError):
    """A loop with a negative count: the sequence does not have this form for the request."""


LOOP = "loop"
"""The first of the three parts of a loop: this word, how often, and what is repeated."""


def fold(sequence: Sequence[Hashable]) -> tuple[Any, ...]:
    """The sequence with a loop for everything that is repeated at once, shortest first."""
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
"""Periods up to this are all tried; of longer ones those at which stretches come again."""
STRETCH = 16


def _next_period(numbers: list[int], after: int) -> int | None:
    """The next larger distance at which half of a period's stretches are the same again; None where there is none.

    To try every distance would take hours for a video that is decoded frame by frame.
    """
    import numpy

    count = len(numbers) - STRETCH + 1
    if count < 2:
        return None
    array = numpy.asarray(numbers, dtype=numpy.uint64) + numpy.uint64(1)
    stretches = numpy.zeros(count, dtype=numpy.uint64)
    for place in range(STRETCH):  # a number for each stretch; by the rules of unsigned numbers, it is cut to 64 bits
        stretches = stretches * numpy.uint64(6364136223846793005) + array[place : place + count]
    order = numpy.argsort(stretches, kind="stable")
    same = stretches[order][1:] == stretches[order][:-1]
    distances, found = numpy.unique(numpy.diff(order)[same], return_counts=True)
    likely = distances[(distances > after) & (2 * found >= distances - STRETCH)]
    return int(likely[0]) if len(likely) else None


def _fold_period(
    numbers: list[int], period: int, loops: dict[tuple[int, tuple[int, ...]], int], meaning: list[Any]
) -> list[int]:
    """The numbers with every repetition of this length as one number of a loop."""
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
    """Where at least `period` numbers in a row equal those one period later, and how many do."""
    import numpy  # only whoever derives laws folds

    array = numpy.asarray(numbers)
    equal = array[:-period] == array[period:]
    if int(equal.sum()) < period:
        return []
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([False], equal, [False]))))
    return [(start, end - start) for start, end in edges.reshape(-1, 2).tolist() if end - start >= period]


def is_loop(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 3 and item[0] == LOOP


def unfold(sequence: Iterable[Any]) -> list[Any]:
    """The sequence that was folded."""
    items: list[Any] = []
    for item in sequence:
        if is_loop(item):
            if item[1] < 0:
                raise NegativeCount("something would be repeated less than 0 times")
            items += unfold(item[2]) * item[1]
        else:
            items.append(item)
    return items
