"""The allocations of a call in order, from which the peak memory on any device can be computed.

Equal blocks of a model allocate alike, so that a sequence can be stored in few numbers: an allocation stores the
distance of its module from that of the previous allocation, a release stores how many allocations ago its memory was
allocated, and repetitions are stored as references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

ALLOCATE, RELEASE, OPERATION, MASKED_ATTENTION, CALL = "allocate", "release", "operation", "masked_attention", "call"
EVENT_KINDS = (ALLOCATE, RELEASE, OPERATION, MASKED_ATTENTION, CALL)

MAX_EVENTS = 5_000_000
"""The limit for the expanded length of a sequence: a few numbers of a hostile file could expand to any length."""

SHORTEST_REPEAT = 4
"""The shortest repetition that is stored as a reference."""


@dataclass(frozen=True)
class AllocationEvent:
    """One kind of event.

    allocate: `value` bytes for the module that is `step` places after that of the previous allocation.
    release: the memory that was allocated `value` allocations ago; 1 is the latest.
    operation: the operation with that number in the `Cost` is executed, and may need workspace;
    masked_attention is one with a mask.
    call: a component is called; only in the allocations of the pipeline itself.
    """

    kind: str
    value: int
    step: int = 0
    """2n for n places forward, 2n - 1 for n places back."""


@dataclass(frozen=True)
class Allocations:
    """A sequence of events: the distinct ones, and their order."""

    events: tuple[AllocationEvent, ...] = ()
    order: tuple[int, ...] = ()
    """Numbers of events. A number n beyond them is followed by a length: repeat that many from n - len(events) ago."""

    def expand(self) -> list[int]:
        """Return the number of every event that happened, without references."""
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
            distance, length = number - known, next(places)
            start = len(numbers) - distance
            period = numbers[start : start + length]
            # A repetition may overlap with itself.
            numbers += period if length <= distance else (period * (-(-length // distance)))[:length]
        return numbers


NO_ALLOCATIONS = Allocations()


def compress(events: Sequence[AllocationEvent], numbers: Sequence[int]) -> Allocations:
    """Make the sequence of these event numbers, with references for repetitions."""
    return Allocations(tuple(events), compressed_order(numbers, len(events)))


def compressed_order(numbers: Sequence[int], known: int) -> tuple[int, ...]:
    """Return the order of `Allocations` for these numbers of `known` events."""
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
    """Encode a number of places forward or back as a nonnegative integer."""
    return 2 * places if places >= 0 else -2 * places - 1


def step_places(number: int) -> int:
    """Decode the result of `step_number`."""
    return number // 2 if number % 2 == 0 else -(number + 1) // 2
