"""A model of PyTorch's caching allocator for CUDA: the memory that it reserves for a sequence of requests.

The rules are those of ``c10/cuda/CUDACachingAllocator.cpp`` with its default settings: requests are rounded to 512
bytes; those up to 1 MiB share segments of 2 MiB, those below 10 MiB segments of 20 MiB, larger ones have a segment of
their own in multiples of 2 MiB; the smallest free block that is large enough is taken, and split where enough is left;
free neighbours are merged. A segment goes back to the device when its cache is emptied, or when the device has no more.

Blocks are plain addresses in dictionaries, for speed: predictions spend most of their time here.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass

KIB, MIB = 1024, 1024**2

SMALLEST_BLOCK = 512
SMALL_REQUEST = 1 * MIB
SMALL_SEGMENT = 2 * MIB
"""Segments for other requests are larger than this."""
LARGE_REQUEST = 10 * MIB
MIDDLE_SEGMENT = 20 * MIB
LARGE_STEP = 2 * MIB

ADDRESS_BITS = 56
ADDRESS_MASK = (1 << ADDRESS_BITS) - 1
"""A size and an address are packed into one number, with the size first, because sorting numbers is much faster."""

FreeBlocks = tuple[tuple[int, ...], tuple[int, ...]]
"""Packed sizes and addresses of free blocks, sorted: for small requests, and for others."""


FreeSizes = tuple[tuple[int, ...], tuple[int, ...]]
"""The same without the addresses."""


class OutOfDeviceMemory(Exception):
    """A request cannot be met, even after releasing all cached memory."""


@dataclass(frozen=True)
class Occupied:
    """A state of the allocator whose allocations are never released."""

    allocated: int
    reserved: int
    most_reserved: int
    requested: int
    address: int
    free: FreeBlocks
    segments: dict[int, int]
    """Addresses and sizes of completely free segments, which can be released."""


class CachingAllocator:
    """The allocator; `capacity` is the memory of the device for it, None for no limit."""

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.allocated = 0
        self.reserved = 0
        self.most_reserved = 0
        self.requested = 0
        """Requested bytes that are not released; no device with less memory can hold them."""
        self.most_requested = 0
        self.times_full = 0
        """How often the device was full, so that the outcome depends on its capacity."""
        self._address = 0
        self._small: list[int] = []
        self._large: list[int] = []
        """Packed sizes and addresses of free blocks, sorted: for small requests, and for others."""
        self._starts: dict[int, int] = {}
        """Free blocks: size by address."""
        self._ends: dict[int, int] = {}
        """Free blocks: address by the address behind their end."""
        self._taken: dict[int, int] = {}
        """Allocated blocks: size by address."""
        self._unused: dict[int, int] = {}
        """Excess bytes of blocks that were too small to split, by address."""
        self._segments: dict[int, int] = {}
        """Size by address."""

    def allocate(self, size: int) -> int:
        """Allocate a block of this many bytes, and return its address."""
        size = (size + SMALLEST_BLOCK - 1) & -SMALLEST_BLOCK or SMALLEST_BLOCK
        is_small = size <= SMALL_REQUEST
        free = self._small if is_small else self._large
        place = bisect_left(free, size << ADDRESS_BITS)
        if place < len(free):
            found = free.pop(place)
            address, whole = found & ADDRESS_MASK, found >> ADDRESS_BITS
            del self._starts[address]
        else:
            address, whole = self._new_segment(size, is_small)
        left = whole - size
        if not left:
            self._ends.pop(address + whole, None)
        elif is_small or left > SMALL_REQUEST:
            rest = address + size
            self._starts[rest] = left
            self._ends[address + whole] = rest
            insort(free, left << ADDRESS_BITS | rest)
            whole = size
        else:
            self._ends.pop(address + whole, None)
            self._unused[address] = left
        self._taken[address] = whole
        self.allocated += whole
        requested = self.requested = self.requested + size
        if requested > self.most_requested:
            self.most_requested = requested
        return address

    def release(self, address: int) -> None:
        """Return a block to the cache."""
        starts, ends = self._starts, self._ends
        size = self._taken.pop(address)
        self.allocated -= size
        self.requested -= size
        if address in self._unused:
            self.requested += self._unused.pop(address)
        # Blocks for small requests have exactly their size, others are larger than any of these.
        free = self._small if size <= SMALL_REQUEST else self._large
        end = address + size
        # Asking first is quicker than to pop what is seldom there.
        if address in ends:
            before = ends.pop(address)
            del free[bisect_left(free, address - before << ADDRESS_BITS | before)]
            address = before
        if end in starts:
            after = starts.pop(end)
            del free[bisect_left(free, after << ADDRESS_BITS | end)]
            end += after
        size = end - address
        starts[address] = size
        ends[end] = address
        insort(free, size << ADDRESS_BITS | address)

    def size_of(self, address: int) -> int:
        """The size of an allocated block."""
        return self._taken[address]

    def empty_cache(self) -> None:
        """Release all free segments to the device."""
        for address, size in list(self._segments.items()):
            if self._starts.get(address) == size:
                free = self._small if size == SMALL_SEGMENT else self._large
                del free[bisect_left(free, size << ADDRESS_BITS | address)]
                del self._segments[address], self._starts[address], self._ends[address + size]
                self.reserved -= size

    def free_blocks(self) -> FreeBlocks:
        """All free blocks."""
        return tuple(self._small), tuple(self._large)

    def free_sizes(self) -> FreeSizes:
        """The sizes of what is cached: where it lies makes no difference to requests that are all released again.

        Free blocks are no neighbours, so that nothing which comes and goes in one of them touches another.
        """
        return tuple([one >> ADDRESS_BITS for one in self._small]), tuple([one >> ADDRESS_BITS for one in self._large])

    def has_room_for(self, size: int) -> bool:
        """Whether the device has this much unreserved memory."""
        return self.capacity is None or self.reserved + size <= self.capacity

    def segments_since(self, address: int) -> list[int]:
        """Sizes of the segments that were opened after `next_address` had this value."""
        return [size for start, size in self._segments.items() if start >= address]

    @property
    def next_address(self) -> int:
        """The address of the next segment."""
        return self._address

    def add_free_segments(self, sizes: Iterable[int]) -> None:
        """Add free segments."""
        for size in sizes:
            address = self._open_segment(size)
            free = self._small if size == SMALL_SEGMENT else self._large
            self._starts[address] = size
            self._ends[address + size] = address
            insort(free, size << ADDRESS_BITS | address)

    def as_occupied(self) -> Occupied:
        """A snapshot of this state, for all generations that start with it."""
        whole = {address: size for address, size in self._segments.items() if self._starts.get(address) == size}
        return Occupied(
            self.allocated, self.reserved, self.most_reserved, self.requested, self._address, self.free_blocks(), whole
        )

    def resume(self, state: Occupied) -> None:
        """Start with a snapshot of a state."""
        self.allocated, self.reserved, self.most_reserved = state.allocated, state.reserved, state.most_reserved
        self.requested = self.most_requested = state.requested
        self._address = state.address
        self._small, self._large = list(state.free[0]), list(state.free[1])
        self._segments = dict(state.segments)
        for found in (*self._small, *self._large):
            address, size = found & ADDRESS_MASK, found >> ADDRESS_BITS
            self._starts[address] = size
            self._ends[address + size] = address

    def _new_segment(self, size: int, is_small: bool) -> tuple[int, int]:
        """Open a segment for a request; returns its address and size."""
        if is_small:
            segment = SMALL_SEGMENT
        elif size < LARGE_REQUEST:
            segment = MIDDLE_SEGMENT
        else:
            segment = -(-size // LARGE_STEP) * LARGE_STEP
        if not self.has_room_for(segment):
            self.times_full += 1
            self.empty_cache()
            if not self.has_room_for(segment):
                raise OutOfDeviceMemory
        return self._open_segment(segment), segment

    def _open_segment(self, size: int) -> int:
        self.reserved += size
        if self.reserved > self.most_reserved:
            self.most_reserved = self.reserved
        address = self._address
        self._segments[address] = size
        # With a gap, so that blocks of two segments are never neighbours.
        self._address += size + SMALLEST_BLOCK
        return address
