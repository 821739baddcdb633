"""Play recorded allocation events through the allocator model; repetitions without a change are skipped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from diffprof.prediction.allocator import CachingAllocator, FreeBlocks
from diffprof.prediction.repetitions import Stretch, stretches
from diffprof.record.allocations import ALLOCATE, CALL, RELEASE, step_places
from diffprof.record.profile import Cost

Event = tuple[str, int, int]
"""Kind, value, and the step to the next owner."""


@dataclass(frozen=True)
class Part:
    """Events in order that are repeated `times` times."""

    events: Sequence[Event]
    times: int
    parts: Sequence[Part] = ()
    """The same events as shorter parts, if some of them are repeated."""

    @cached_property
    def allocations(self) -> int:
        """How many allocations each repetition makes."""
        return sum(kind == ALLOCATE for kind, _, _ in self.events)

    @cached_property
    def distance(self) -> int:
        """By how much each repetition advances the place."""
        return sum(step for kind, _, step in self.events if kind == ALLOCATE)

    @cached_property
    def has_calls(self) -> bool:
        return any(kind == CALL for kind, _, _ in self.events)

    @cached_property
    def lasting(self) -> tuple[tuple[int, int | None], ...]:
        """Index and size of allocations that outlast a repetition; without a size, of earlier ones that it releases.

        Indices count from the first allocation of the repetition.
        """
        found: dict[int, int | None] = {}
        made = 0
        for kind, value, _ in self.events:
            if kind == ALLOCATE:
                found[made] = value
                made += 1
            elif kind == RELEASE and value > made:
                found[made - value] = None
            elif kind == RELEASE:
                del found[made - value]
        return tuple(found.items())

    @cached_property
    def adds_up(self) -> bool:
        """Whether each repetition leaves more behind than it finds, so that no state recurs."""
        return sum(-1 if size is None else 1 for _, size in self.lasting) > 0


MOST_TURNS = 8
"""The most repetitions after which a state may recur."""

LEAST_SKIPPED = 2

QUICK_SHARE = 4
"""States are not compared if a repetition has fewer events than this part of the live allocations."""

FIRST_PLAYED, LAST_PLAYED = 2, 1
"""Repetitions that are played at the ends if states do not recur because something piles up.

With these, the peak of reserved memory of videos in the catalogue is that of all repetitions, or differs by less
than 1 %."""

WORTH_LEAVING_OUT = 5_000
"""The fewest events in between that are left out."""

LEFT_OUT = -1


@dataclass(frozen=True)
class _State:
    """Everything that the next repetition depends on."""

    free: FreeBlocks
    alive: dict[int, tuple[int, int]]
    """Address and size of the block of each allocation, by its index."""
    allocations: int
    place: int
    played: int
    """How often events had been played."""


def event_parts(cost: Cost) -> list[Part]:
    """The events of a cost as they were recorded."""
    known = [(event.kind, event.value, step_places(event.step)) for event in cost.allocations.events]
    return parts_of(stretches(cost.allocations), known)


def parts_of(found: Iterable[Stretch], known: Sequence[Event | None]) -> list[Part]:
    """The parts of stretches whose numbers mean these events; None is left out."""
    return [
        Part([event for n in one.numbers if (event := known[n]) is not None], one.times, parts_of(one.parts, known))
        for one in found
    ]


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
        self.activations = 0
        """Bytes of live allocations."""
        self.place = 0
        """A position that advances by the same amount in each repetition, such as the running module."""
        self.played = 0
        """How often events were played."""

    @abstractmethod
    def play(self, events: Sequence[Event]) -> None:
        """Play the events."""

    def play_all(self, parts: Iterable[Part]) -> None:
        """Play all events."""
        for part in parts:
            self._repeat(part)

    def repetitions(self, distance: int, turns: int, times: int, is_exact: bool = True) -> int:
        """How many of the next `times` repetitions are like the last `turns` plays, each `distance` places further.

        If that has to be exact, their weights have the same addresses, too.
        """
        return times

    def _repeat(self, part: Part) -> None:
        """Play a part; once states recur, skip as many repetitions as possible."""
        is_quick = len(part.events) < len(self.alive) // QUICK_SHARE  # quicker to play than to compare
        if not self.can_skip or part.times <= LEAST_SKIPPED or (is_quick and not part.adds_up):
            for _ in range(part.times):
                self._play_once(part)
        elif part.adds_up:
            self._play_ends(part)
        else:
            self._play_until_same(part)

    def _play_once(self, part: Part) -> None:
        if part.parts:
            self.play_all(part.parts)
        else:
            self.played += 1
            self.play(part.events)

    def _play_until_same(self, part: Part) -> None:
        """Play a part until states recur."""
        states: list[_State] = []
        left = part.times
        while left:
            self._play_once(part)
            left -= 1
            if left < LEAST_SKIPPED:
                continue
            state = self._state()
            # Tensors often alternate between two or three addresses.
            for turns, before in enumerate(reversed(states), start=1):
                skipped = self._skip(before, state, left // turns)
                if skipped:
                    for _ in range(left - skipped * turns):
                        self._play_once(part)
                    return
            states = [*states[1 - MOST_TURNS :], state]

    def _play_ends(self, part: Part) -> None:
        """Play the first and the last repetitions, and of those between them only what outlasts them.

        The least and the most memory is needed at the ends; what comes and goes in between finds about the same memory.
        """
        left = part.times
        while left > LAST_PLAYED and part.times - left < FIRST_PLAYED:
            before = self.played
            self._play_once(part)
            left -= 1
        between = left - LAST_PLAYED
        if between * len(part.events) >= WORTH_LEAVING_OUT and not part.has_calls:
            between = self.repetitions(part.distance, self.played - before, between, is_exact=False)
            self._play_what_lasts(part, between)
            left -= between
        for _ in range(left):
            self._play_once(part)

    def _play_what_lasts(self, part: Part, times: int) -> None:
        """Play repetitions without what each of them releases again."""
        blocks, sizes = self.blocks, self.sizes
        for _ in range(times):
            start = len(blocks)
            blocks += [LEFT_OUT] * part.allocations
            sizes += [0] * part.allocations
            for index, size in part.lasting:
                number = start + index
                if size is not None:
                    self.alive[number] = None
                    blocks[number], sizes[number] = self.allocator.allocate(size), size
                    self.activations += size
                else:
                    self.allocator.release(blocks[number])
                    self.activations -= sizes[number]
                    del self.alive[number]
        self.place += part.distance * times

    def _state(self) -> _State:
        blocks, size_of = self.blocks, self.allocator.size_of
        alive = {number: (blocks[number], size_of(blocks[number])) for number in self.alive}
        return _State(self.allocator.free_blocks(), alive, len(self.blocks), self.place, self.played)

    def _skip(self, before: _State, now: _State, times: int) -> int:
        """Skip up to `times` repetitions between two states that are equivalent; returns how many were skipped.

        Two states are equivalent if the same memory is free, and allocations made in between have the addresses of
        those released in between: then every repetition finds what the one before it found.
        """
        if before.free != now.free:
            return 0
        moved = now.allocations - before.allocations
        gone = {number + moved: place for number, place in before.alive.items() if number not in now.alive}
        come = {number: place for number, place in now.alive.items() if number not in before.alive}
        if gone != come:
            return 0
        times = self.repetitions(now.place - before.place, now.played - before.played, times)
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
