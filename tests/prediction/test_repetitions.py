"""Repetitions in a record of allocations."""

from __future__ import annotations

import random

from diffprof.prediction.repetitions import Stretch, stretches
from diffprof.record.allocations import ALLOCATE, AllocationEvent, Allocations, compress

EVENTS = [AllocationEvent(ALLOCATE, size) for size in range(1, 60)]


def expand(parts: list[Stretch]) -> list[int]:
    return [number for part in parts for _ in range(part.times) for number in part.numbers]


def test_equal_blocks_are_one_stretch_with_what_lies_around_it() -> None:
    block = list(range(10, 40))
    numbers = [1, 2, 3, *block * 8, 4, 5]
    before, body, after = stretches(compress(EVENTS, numbers))
    assert (before, after) == (Stretch([1, 2, 3], 1), Stretch([4, 5], 1))
    assert (len(body.numbers), body.times) == (30, 8)


def test_stretches_are_the_whole_sequence_whatever_it_is() -> None:
    rng = random.Random(7)
    for _ in range(20):
        parts = [[rng.randrange(59) for _ in range(rng.randrange(1, 40))] * rng.choice((1, 2, 5, 20)) for _ in range(4)]
        numbers = [number for part in parts for number in part]
        assert expand(list(stretches(compress(EVENTS, numbers)))) == numbers


def test_what_is_copied_with_its_repetitions_has_them_again() -> None:
    numbers = [1, 2, *list(range(10, 40)) * 8, 3, 4, *list(range(10, 40)) * 8, 5]
    parts = stretches(compress(EVENTS, numbers))
    first, second = (part for part in parts if part.times > 1)
    assert (len(first.numbers), first.times) == (30, 8)
    assert (len(second.numbers), second.times) == (30, 7)  # the copy begins with the second of them
    assert expand(list(parts)) == numbers


def test_a_few_repetitions_are_not_worth_a_look() -> None:
    numbers = [1, 2, 3, 4, 5] * 4
    assert stretches(compress(EVENTS, numbers)) == [Stretch(numbers, 1)]


def test_no_events_are_no_stretch() -> None:
    assert list(stretches(Allocations())) == []
