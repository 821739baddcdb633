"""Repetitions in a record of allocations."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from diffprof.prediction.repetitions import Stretch, stretches
from diffprof.record.allocations import ALLOCATE, AllocationEvent, Allocations, compress

EVENTS = [AllocationEvent(ALLOCATE, size) for size in range(1, 60)]


def expand(parts: Iterable[Stretch]) -> list[int]:
    """All numbers, from the shortest stretches."""
    return [
        number
        for part in parts
        for _ in range(part.times)
        for number in (expand(part.parts) if part.parts else part.numbers)
    ]


def test_equal_blocks_are_one_stretch_with_what_lies_around_it() -> None:
    block = list(range(10, 40))
    numbers = [1, 2, 3, *block * 8, 4, 5]
    before, body, after = stretches(compress(EVENTS, numbers))
    assert (before, after) == (Stretch([1, 2, 3], 1), Stretch([4, 5], 1))
    assert (len(body.numbers), body.times) == (30, 8)


@pytest.mark.parametrize("seed", range(60))
def test_stretches_are_the_whole_sequence_whatever_it_is(seed: int) -> None:
    """Pieces of what came before, some of them several times: repetitions lie in each other, and overlap."""
    rng = random.Random(seed)
    numbers = [rng.randrange(59) for _ in range(40)]
    while len(numbers) < 4000:
        start = rng.randrange(len(numbers))
        piece = numbers[start : start + rng.randrange(1, 400)]
        numbers += [rng.randrange(59) for _ in range(rng.randrange(3))] + piece * rng.choice((1, 1, 2, 3, 6))
    parts = stretches(compress(EVENTS, numbers))
    assert expand(parts) == numbers
    assert [number for part in parts for number in list(part.numbers) * part.times] == numbers


def test_what_is_copied_with_its_repetitions_has_them_again() -> None:
    numbers = [1, 2, *list(range(10, 40)) * 8, 3, 4, *list(range(10, 40)) * 8, 5]
    parts = stretches(compress(EVENTS, numbers))
    first, second = (part for part in parts if part.times > 1)
    assert (len(first.numbers), first.times) == (30, 8)
    assert (len(second.numbers), second.times) == (30, 7)  # the copy begins with the second of them
    assert expand(list(parts)) == numbers


def test_repetitions_among_repetitions_are_found() -> None:
    tile = [1, 2, *list(range(10, 40)) * 8, 3, 4]
    numbers = [5, *tile * 6, 6]
    parts = stretches(compress(EVENTS, numbers))
    tiles = max(parts, key=lambda part: len(part.numbers) * part.times)
    frames = max(tiles.parts, key=lambda part: part.times)
    assert (len(tiles.numbers), len(frames.numbers), frames.times) == (len(tile), 30, 8)
    assert tiles.times >= 4
    assert expand(parts) == numbers
    assert all(expand(part.parts) == list(part.numbers) for part in parts if part.parts)


def test_the_rest_of_a_copied_repetition_has_its_own_ones() -> None:
    tile = [1, 2, *list(range(10, 40)) * 8, 3, 4]
    numbers = [5, *tile * 6, 6, 7, *tile * 6, 8]
    parts = stretches(compress(EVENTS, numbers))
    assert sum(len(part.numbers) for part in parts if not part.parts and part.times == 1) < len(tile)
    assert expand(parts) == numbers


def test_a_few_repetitions_are_not_worth_a_look() -> None:
    numbers = [1, 2, 3, 4, 5] * 4
    assert stretches(compress(EVENTS, numbers)) == [Stretch(numbers, 1)]


def test_no_events_are_no_stretch() -> None:
    assert list(stretches(Allocations())) == []
