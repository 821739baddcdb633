"""PyTorch's caching allocator for CUDA, followed step by step: what it asks of the device for a sequence of requests.

The rules are those of ``c10/cuda/CUDACachingAllocator.cpp`` with its default settings: requests are rounded to 512
bytes; those up to 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones have a segment of
their own in multiples of 2 MiB; the smallest free block that is large enough is taken, and split where enough is left;
free neighbours are merged. A segment goes back to the device when its cache is emptied, or when the device has no more.
"""

from __future__ import annotations

from bisect import bisect_left, insort

KIB, MIB = 1024, 1024**2

SMALLEST_BLOCK = 512
SMALL_REQUEST = 1 * MIB
SMALL_SEGMENT = 2 * MIB
LARGE_REQUEST = 10 * MIB
MIDDLE_SEGMENT = 20 * MIB
LARGE_STEP = 2 * MIB


class OutOfDeviceMemory(Exception):
    """A request cannot be met, not even after all cached memory was given back."""


class _Block:
    __slots__ = ("address", "following", "is_free", "is_small", "preceding", "size")

    def __init__(self, size: int, address: int, is_small: bool) -> None:
        self.size = size
        self.address = address
        self.is_small = is_small
        self.is_free = False
        self.preceding: _Block | None = None
        self.following: _Block | None = None


class CachingAllocator:
    """The state of the allocator; `capacity` is what the device has for it, None for any amount."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.allocated = 0
        self.reserved = 0
        self.most_allocated = 0
        self.most_reserved = 0
        self._address = 0
        self._free: dict[bool, list[tuple[int, int, _Block]]] = {True: [], False: []}

    def allocate(self, size: int) -> _Block:
        """A block for so many bytes."""
        size = rounded(size)
        is_small = size <= SMALL_REQUEST
        free = self._free[is_small]
        place = bisect_left(free, (size,))
        block = free.pop(place)[2] if place < len(free) else self._new_segment(size, is_small)
        block.is_free = False
        left = block.size - size
        if left >= SMALLEST_BLOCK if is_small else left > SMALL_REQUEST:
            self._split(block, size)
        self.allocated += block.size
        if self.allocated > self.most_allocated:
            self.most_allocated = self.allocated
        return block

    def release(self, block: _Block) -> None:
        """Give a block back to the cache."""
        self.allocated -= block.size
        for neighbour in (block.preceding, block.following):
            if neighbour is not None and neighbour.is_free:
                block = self._merge(block, neighbour)
        block.is_free = True
        insort(self._free[block.is_small], (block.size, block.address, block))

    def empty_cache(self) -> None:
        """Give segments that hold nothing back to the device."""
        for is_small, blocks in self._free.items():
            kept = []
            for entry in blocks:
                block = entry[2]
                if block.preceding is None and block.following is None:
                    self.reserved -= block.size
                else:
                    kept.append(entry)
            self._free[is_small] = kept

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
        insort(self._free[rest.is_small], (rest.size, rest.address, rest))

    def _merge(self, block: _Block, neighbour: _Block) -> _Block:
        free = self._free[neighbour.is_small]
        del free[bisect_left(free, (neighbour.size, neighbour.address))]
        first, second = (neighbour, block) if neighbour is block.preceding else (block, neighbour)
        first.size += second.size
        first.following = second.following
        if second.following is not None:
            second.following.preceding = first
        return first


def rounded(size: int) -> int:
    """The bytes that a request takes."""
    return max(SMALLEST_BLOCK, -(-size // SMALLEST_BLOCK) * SMALLEST_BLOCK)
