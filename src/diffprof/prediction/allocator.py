"""PyTorch's caching allocator for CUDA, followed step by step: what it asks of the device for a sequence of requests.

The rules are those of ``c10/cuda/CUDACachingAllocator.cpp`` with its default settings: requests are rounded to 512
bytes; those up to 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones have a segment of
their own in multiples of 2 MiB; the smallest free block that is large enough is taken, and split where enough is left;
free neighbours are merged. A segment goes back to the device when its cache is emptied, or when the device has no more.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

KIB, MIB = 1024, 1024**2

SMALLEST_BLOCK = 512
SMALL_REQUEST = 1 * MIB
SMALL_SEGMENT = 2 * MIB
LARGE_REQUEST = 10 * MIB
MIDDLE_SEGMENT = 20 * MIB
LARGE_STEP = 2 * MIB

ADDRESS_BITS = 56
ADDRESS_MASK = (1 << ADDRESS_BITS) - 1
"""A size and an address are one number, with the size before the address: sorting these is far faster."""


class OutOfDeviceMemory(Exception):
    """A request cannot be met, not even after all cached memory was given back."""


class _Block:
    __slots__ = ("address", "following", "is_free", "is_small", "preceding", "requested", "size")

    def __init__(self, size: int, address: int, is_small: bool) -> None:
        self.size = size
        self.address = address
        self.is_small = is_small
        self.is_free = False
        self.requested = 0
        self.preceding: _Block | None = None
        self.following: _Block | None = None

    def copy(self) -> _Block:
        """The same without neighbours."""
        other = _Block(self.size, self.address, self.is_small)
        other.is_free, other.requested = self.is_free, self.requested
        return other


@dataclass(frozen=True)
class Occupied:
    """An allocator of which nothing that is allocated will ever be released."""

    allocated: int
    reserved: int
    most_reserved: int
    requested: int
    address: int
    free: tuple[tuple[int, int, bool, bool, bool], ...]
    """Size and address of what is free, whether it is for small requests, and whether something lies on each side."""


class CachingAllocator:
    """The state of the allocator; `capacity` is what the device has for it, None for any amount."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.allocated = 0
        self.reserved = 0
        self.most_reserved = 0
        self.requested = 0
        """What was asked for and is not released: no device with less can have it, however its memory is split."""
        self.most_requested = 0
        self._address = 0
        self._free: dict[bool, list[int]] = {True: [], False: []}
        """Sizes and addresses of free blocks as single numbers, in order: for small requests, and for others."""
        self._at: dict[int, _Block] = {}
        """Free blocks by address."""

    def allocate(self, size: int) -> _Block:
        """A block for so many bytes."""
        size = (size + SMALLEST_BLOCK - 1) // SMALLEST_BLOCK * SMALLEST_BLOCK or SMALLEST_BLOCK
        is_small = size <= SMALL_REQUEST
        free = self._free[is_small]
        place = bisect_left(free, size << ADDRESS_BITS)
        if place < len(free):
            block = self._at.pop(free.pop(place) & ADDRESS_MASK)
            block.is_free = False
        else:
            block = self._new_segment(size, is_small)
        left = block.size - size
        if left >= SMALLEST_BLOCK if is_small else left > SMALL_REQUEST:
            self._split(block, size)
        self.allocated += block.size
        block.requested = size
        self.requested += size
        if self.requested > self.most_requested:
            self.most_requested = self.requested
        return block

    def release(self, block: _Block) -> None:
        """Give a block back to the cache."""
        self.allocated -= block.size
        self.requested -= block.requested
        neighbour = block.preceding
        if neighbour is not None and neighbour.is_free:
            block = self._merge(block, neighbour)
        neighbour = block.following
        if neighbour is not None and neighbour.is_free:
            block = self._merge(block, neighbour)
        # As `_keep` does it: this is the busiest place of a prediction.
        block.is_free = True
        self._at[block.address] = block
        insort(self._free[block.is_small], block.size << ADDRESS_BITS | block.address)

    def _keep(self, block: _Block) -> None:
        """Have a block among those that are free."""
        block.is_free = True
        self._at[block.address] = block
        insort(self._free[block.is_small], block.size << ADDRESS_BITS | block.address)

    def empty_cache(self) -> None:
        """Give segments that hold nothing back to the device."""
        for block in list(self._at.values()):
            if block.preceding is None and block.following is None:
                self.reserved -= block.size
                self._drop(block)

    def _drop(self, block: _Block) -> None:
        """Have a block no longer among those that are free."""
        free = self._free[block.is_small]
        del free[bisect_left(free, block.size << ADDRESS_BITS | block.address)]
        del self._at[block.address]

    def free_blocks(self) -> list[int]:
        """Size and address of all that is cached, as single numbers."""
        return [*self._free[True], *self._free[False]]

    def fork(self, blocks: Mapping[int, _Block]) -> tuple[CachingAllocator, dict[int, _Block]]:
        """The same state apart from this one, and these of its blocks."""
        copies: dict[int, _Block] = {}
        waiting = [*blocks.values(), *self._at.values()]
        found: list[_Block] = []
        while waiting:
            block = waiting.pop()
            if id(block) not in copies:
                copies[id(block)] = block.copy()
                found.append(block)
                waiting += [one for one in (block.preceding, block.following) if one is not None]
        for block in found:
            own = copies[id(block)]
            own.preceding = copies[id(block.preceding)] if block.preceding is not None else None
            own.following = copies[id(block.following)] if block.following is not None else None
        other = copy(self)
        other._free = {is_small: list(free) for is_small, free in self._free.items()}
        other._at = {address: copies[id(block)] for address, block in self._at.items()}
        return other, {number: copies[id(block)] for number, block in blocks.items()}

    def as_occupied(self) -> Occupied:
        """This state, for as many generations as begin with it."""
        free = tuple(
            (block.size, block.address, block.is_small, block.preceding is not None, block.following is not None)
            for block in self._at.values()
        )
        return Occupied(self.allocated, self.reserved, self.most_reserved, self.requested, self._address, free)

    def resume(self, state: Occupied) -> None:
        """Begin with a state."""
        self.allocated, self.reserved, self.most_reserved = state.allocated, state.reserved, state.most_reserved
        self.requested = self.most_requested = state.requested
        self._address = state.address
        taken = _Block(0, -1, False)
        for size, address, is_small, has_preceding, has_following in state.free:
            block = _Block(size, address, is_small)
            block.preceding = taken if has_preceding else None
            block.following = taken if has_following else None
            self._keep(block)

    def _new_segment(self, size: int, is_small: bool) -> _Block:
        if is_small:
            segment = SMALL_SEGMENT
        elif size < LARGE_REQUEST:
            segment = MIDDLE_SEGMENT
        else:
            segment = -(-size // LARGE_STEP) * LARGE_STEP
        if self.capacity is not None and self.reserved + segment > self.capacity:
            self.empty_cache()
            if self.reserved + segment > self.capacity:
                raise OutOfDeviceMemory
        self.reserved += segment
        if self.reserved > self.most_reserved:
            self.most_reserved = self.reserved
        block = _Block(segment, self._address, is_small)
        self._address += segment
        return block

    def _split(self, block: _Block, size: int) -> None:
        rest = _Block(block.size - size, block.address + size, block.is_small)
        rest.is_free = True
        rest.preceding, rest.following = block, block.following
        if block.following is not None:
            block.following.preceding = rest
        block.following, block.size = rest, size
        self._at[rest.address] = rest
        insort(self._free[rest.is_small], rest.size << ADDRESS_BITS | rest.address)

    def _merge(self, block: _Block, neighbour: _Block) -> _Block:
        free = self._free[neighbour.is_small]
        del free[bisect_left(free, neighbour.size << ADDRESS_BITS | neighbour.address)], self._at[neighbour.address]
        first, second = (neighbour, block) if neighbour is block.preceding else (block, neighbour)
        first.size += second.size
        first.following = second.following
        if second.following is not None:
            second.following.preceding = first
        return first
