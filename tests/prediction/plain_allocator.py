"""PyTorch's allocator as a list of segments, each a list of blocks, searched from one end to the other."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.prediction.allocator import MIB, OutOfDeviceMemory


@dataclass
class Block:
    size: int
    number: int | None
    """Of the allocation; None while it is free."""


class PlainAllocator:
    """A simple, slow implementation of `CachingAllocator`."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.segments: list[tuple[bool, list[Block]]] = []
        """Whether it is for requests of up to 1 MiB, and its blocks in the order of their addresses."""
        self.most_reserved = 0
        self.allocations = 0

    @property
    def allocated(self) -> int:
        return sum(block.size for _, blocks in self.segments for block in blocks if block.number is not None)

    @property
    def reserved(self) -> int:
        return sum(block.size for _, blocks in self.segments for block in blocks)

    def allocate(self, size: int) -> int:
        size = max(512, -(-size // 512) * 512)
        is_small = size <= MIB
        free = [
            (block.size, place, blocks.index(block))
            for place, (small, blocks) in enumerate(self.segments)
            for block in blocks
            if small == is_small and block.number is None and block.size >= size
        ]
        if not free:
            self._open_segment(size, is_small)
            return self.allocate(size)
        whole, segment, place = min(free)
        blocks = self.segments[segment][1]
        self.allocations += 1
        left = whole - size
        if (is_small and left) or left > MIB:
            blocks[place : place + 1] = [Block(size, self.allocations), Block(left, None)]
        else:
            blocks[place].number = self.allocations
        return self.allocations

    def release(self, number: int) -> None:
        for _, blocks in self.segments:
            for block in blocks:
                if block.number == number:
                    block.number = None
            for place in range(len(blocks) - 1, 0, -1):
                if blocks[place].number is None and blocks[place - 1].number is None:
                    blocks[place - 1].size += blocks.pop(place).size

    def empty_cache(self) -> None:
        self.segments = [one for one in self.segments if any(block.number is not None for block in one[1])]

    def _open_segment(self, size: int, is_small: bool) -> None:
        segment = 2 * MIB if is_small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.capacity is not None and self.reserved + segment > self.capacity:
            self.empty_cache()
            if self.reserved + segment > self.capacity:
                raise OutOfDeviceMemory
        self.segments.append((is_small, [Block(segment, None)]))
        self.most_reserved = max(self.most_reserved, self.reserved)
