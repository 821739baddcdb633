"""The allocations of a call in order: enough to work out the peak memory on any device.

Equal blocks of a model allocate alike, so that a sequence is written as few numbers: an event names the module by how
far it lies from that of the allocation before, a release by how many allocations ago its memory came, and what came
before is repeated by reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

ALLOCATE, RELEASE, OPERATION, MASKED_ATTENTION, CALL = "allocate", "release", "operation", "masked_attention", "call"
EVENT_KINDS = (ALLOCATE, RELEASE, OPERATION, MASKED_ATTENTION, CALL)

MOST_EVENTS = 5_000_000
"""Events that one sequence may stand for: a few numbers of a hostile file could stand for any number."""

SHORTEST_REPEAT = 4
"""The number of events above which a repetition is written as a reference."""


@dataclass(frozen=True)
class AllocationEvent:
    """One kind of event.

    allocate: `value` bytes come, for the module that is `step` places on from that of the allocation before.
    release: what came `value` allocations ago goes; 1 is the latest.
    operation: the operation of that number in the `Cost` executes, and may need workspace while it does;
    masked_attention is one that was given a mask.
    call: a component is called; only in what the pipeline itself allocates.
    """

    kind: str
    value: int
    step: int = 0
    """Even numbers are twice the places forward, odd ones twice the places back, less one."""


@dataclass(frozen=True)
class Allocations:
    """A sequence of events: the distinct ones, and their order."""

    events: tuple[AllocationEvent, ...] = ()
    order: tuple[int, ...] = ()
    """Numbers of events. A number n beyond them is followed by a length: that many again, from n - len(events) ago."""

    def expand(self) -> list[int]:
        """The numbers of the events, one for each that happened."""
        return self._numbers

    @cached_property
    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        places = iter(self.order)
        known = len(self.events)
        for number in places:
            if number < known:
                numbers.append(number)
                continue
            start = len(numbers) - (number - known)
            for place in range(start, start + next(places)):
                numbers.append(numbers[place])  # one by one: a repetition may overlap with itself
        return numbers


NO_ALLOCATIONS = Allocations()


def compress(events: Sequence[AllocationEvent], numbers: Sequence[int]) -> Allocations:
    """The sequence of these numbers of events, with references instead of repetitions."""
    return Allocations(tuple(events), compressed_order(numbers, len(events)))


def compressed_order(numbers: Sequence[int], known: int) -> tuple[int, ...]:
    """The order of `Allocations` for these numbers of `known` events."""
    order: list[int] = []
    latest: dict[tuple[int, ...], int] = {}
    place, length = 0, len(numbers)
    while place < length:
        key = tuple(numbers[place : place + SHORTEST_REPEAT])
        before = latest.get(key)
        latest[key] = place
        if before is None or len(key) < SHORTEST_REPEAT:
            order.append(numbers[place])
            place += 1
            continue
        repeated = SHORTEST_REPEAT
        while place + repeated < length and numbers[before + repeated] == numbers[place + repeated]:
            repeated += 1
        order += (known + place - before, repeated)
        place += repeated
    return tuple(order)


def step_number(places: int) -> int:
    """How many places on or back, as a number of 0 or more."""
    return 2 * places if places >= 0 else -2 * places - 1


def step_places(number: int) -> int:
    """What `step_number` made a number of."""
    return number // 2 if number % 2 == 0 else -(number + 1) // 2
