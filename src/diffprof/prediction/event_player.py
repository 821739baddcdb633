"""Play recorded allocation events through the allocator model; repetitions without a change are skipped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.prediction.allocator import CachingAllocator, FreeBlocks
from diffprof.prediction.repetitions import stretches
from diffprof.record.allocations import step_places
from diffprof.record.profile import Cost

Event = tuple[str, int, int]
"""Kind, value, and the step to the next owner."""

Parts = list[tuple[list[Event], int]]
"""Events in order, with how often each part is repeated."""

MOST_TURNS = 8
"""The most repetitions after which a state may recur."""

LEAST_SKIPPED = 2

LEFT_OUT = -1


@dataclass(frozen=True)
class _State:
    """Everything that the next repetition depends on."""

    free: FreeBlocks
    alive: dict[int, tuple[int, int]]
    """Address and size of the block of each allocation, by its index."""
    allocations: int
    place: int


def event_parts(cost: Cost) -> Parts:
    """The events of a cost as they were recorded."""
    known = [(event.kind, event.value, step_places(event.step)) for event in cost.allocations.events]
    return [([known[n] for n in one.numbers], one.times) for one in stretches(cost.allocations)]


class EventPlayer(ABC):
    """Plays the events of one cost."""

    def __init__(self, allocator: CachingAllocator, can_skip: bool) -> None:
        self.allocator = allocator
        self.can_skip = can_skip
        """Whether the effect of events depends only on the allocator's state."""
        self.blocks: list[int] = []
        """Addresses by index of the allocation; `LEFT_OUT` for those that were skipped."""
        self.sizes: list[int] = []
        self.alive: dict[int, None] = {}
        """Indices of live allocations."""
        self.place = 0
        """A position that advances by the same amount in each repetition, such as the running module."""

    @abstractmethod
    def play(self, events: Sequence[Event]) -> None:
        """Play the events."""

    def play_all(self, parts: Parts) -> None:
        """Play all events."""
        for events, times in parts:
            self._repeat(events, times)

    def repetitions(self, distance: int, turns: int, times: int) -> int:
        """How many of the next `times` repetitions are like the last turns, each `distance` places further."""
        return times

    def _repeat(self, events: Sequence[Event], times: int) -> None:
        """Play the events `times` times; once states recur, skip as many repetitions as possible."""
        states: list[_State] = []
        left, can_skip = times, self.can_skip
        while left:
            self.play(events)
            left -= 1
            if not can_skip or left < LEAST_SKIPPED:
                continue
            state = self._state()
            # Tensors often alternate between two or three addresses.
            for turns, before in enumerate(reversed(states), start=1):
                skipped = self._skip(before, state, turns, left // turns)
                if skipped:
                    left, can_skip = left - skipped * turns, False
                    break
            states = [*states[1 - MOST_TURNS :], state]

    def _state(self) -> _State:
        blocks, size_of = self.blocks, self.allocator.size_of
        alive = {number: (blocks[number], size_of(blocks[number])) for number in self.alive}
        return _State(self.allocator.free_blocks(), alive, len(self.blocks), self.place)

    def _skip(self, before: _State, now: _State, turns: int, times: int) -> int:
        """Skip up to `times` repetitions between two states that are equivalent; returns how many were skipped.

        Two states are equivalent if the same memory is free, and allocations made in between have the addresses of
        those released in between: then every repetition finds what the one before it found.
        """
        if before.free != now.free:
            return 0
        moved = now.allocations - before.allocations
        gone = {number + moved: place for number, place in before.alive.items() if number not in now.alive}
        come = {number: place for number, place in now.alive.items() if number not in before.alive}
        times = self.repetitions(now.place - before.place, turns, times) if gone == come else 0
        if not times:
            return 0
        skipped = moved * times
        self.blocks += [LEFT_OUT] * skipped
        self.sizes += [0] * skipped
        for number in come:
            self.blocks[number + skipped], self.sizes[number + skipped] = self.blocks[number], self.sizes[number]
        self.alive = dict.fromkeys(number + skipped if number in come else number for number in now.alive)
        self.place += (now.place - before.place) * times
        return times
