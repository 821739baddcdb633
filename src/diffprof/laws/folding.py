"""Sequences with their repetitions written as loops, so that how often something is repeated becomes a number.

The events of a generation with 20 and with 30 steps differ in length; folded, they differ in one count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from diffprof.errors import DiffprofError


class NegativeCount(DiffprofError):
    """A loop whose count makes no sense: the sequence is not of this form for the request."""


LOOP = "loop"
"""The first of the three parts of a loop: this word, how often, and what is repeated."""


def fold(sequence: Sequence[Hashable]) -> tuple[Any, ...]:
    """The sequence with a loop for everything that is repeated at once, shortest first."""
    symbols: dict[Hashable, int] = {}
    numbers = [symbols.setdefault(item, len(symbols)) for item in sequence]
    meaning: list[Any] = list(symbols)
    loops: dict[tuple[int, tuple[int, ...]], int] = {}
    period = 1
    while 2 * period <= len(numbers):
        folded = _fold_period(numbers, period, loops, meaning)
        numbers, period = folded, period + 1
    return tuple(meaning[number] for number in numbers)


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
