"""PyTorch's allocator, by cases worked out by hand from its rules."""

from __future__ import annotations

import random

import pytest

from diffprof.prediction.allocator import MIB, CachingAllocator, OutOfDeviceMemory
from tests.prediction.plain_allocator import PlainAllocator


def test_requests_are_rounded_to_512_bytes() -> None:
    found = []
    for size in (1, 512, 513, 1024):
        allocator = CachingAllocator()
        found.append(allocator.size_of(allocator.allocate(size)))
    assert found == [512, 512, 1024, 1024]


@pytest.mark.parametrize(
    ("size", "segment"),
    [(1, 2 * MIB), (MIB, 2 * MIB), (MIB + 1, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB),
     (10 * MIB + 1, 12 * MIB), (1000 * MIB, 1000 * MIB)],
)  # fmt: skip
def test_a_request_opens_a_segment_of_its_pool(size: int, segment: int) -> None:
    allocator = CachingAllocator()
    allocator.allocate(size)
    assert allocator.reserved == segment


def test_a_released_block_is_used_again() -> None:
    allocator = CachingAllocator()
    block = allocator.allocate(64 * MIB)
    allocator.release(block)
    allocator.allocate(60 * MIB)
    assert (allocator.reserved, allocator.allocated) == (64 * MIB, 60 * MIB)


def test_what_is_left_over_serves_another_request_only_if_it_is_more_than_a_mebibyte() -> None:
    allocator = CachingAllocator()
    allocator.release(allocator.allocate(64 * MIB))
    allocator.allocate(63 * MIB + 1)  # the rest is not split off, and counts as allocated
    assert allocator.allocated == 64 * MIB


def test_free_neighbours_become_one_block() -> None:
    allocator = CachingAllocator()
    allocator.release(allocator.allocate(64 * MIB))
    parts = [allocator.allocate(32 * MIB), allocator.allocate(32 * MIB)]
    for part in parts:
        allocator.release(part)
    allocator.allocate(64 * MIB)
    assert allocator.reserved == 64 * MIB


def test_the_smallest_block_that_is_large_enough_is_taken() -> None:
    allocator = CachingAllocator()
    blocks = [allocator.allocate(size * MIB) for size in (100, 40, 60)]
    for block in blocks:
        allocator.release(block)
    assert allocator.size_of(allocator.allocate(39 * MIB + 512 * 1024)) == 40 * MIB


def test_a_full_device_gets_cached_segments_back_first() -> None:
    allocator = CachingAllocator(capacity=100 * MIB)
    allocator.release(allocator.allocate(60 * MIB))
    allocator.allocate(80 * MIB)
    assert (allocator.reserved, allocator.most_reserved) == (80 * MIB, 80 * MIB)
    with pytest.raises(OutOfDeviceMemory):
        allocator.allocate(40 * MIB)


def test_an_emptied_cache_keeps_segments_that_hold_something() -> None:
    allocator = CachingAllocator()
    held = allocator.allocate(20 * MIB)
    allocator.release(allocator.allocate(30 * MIB))
    allocator.empty_cache()
    assert allocator.reserved == 20 * MIB
    allocator.release(held)
    allocator.empty_cache()
    assert allocator.reserved == 0


def test_what_begins_with_a_state_goes_on_as_the_one_that_reached_it() -> None:
    first, second = CachingAllocator(), CachingAllocator()
    for size in (64 * MIB, 3 * MIB, 700 * 1024, 12 * MIB):
        first.allocate(size)
    second.resume(first.as_occupied())
    for allocator in (first, second):
        blocks = [allocator.allocate(size) for size in (9 * MIB, 5 * MIB, 300 * 1024, 2 * MIB)]
        for block in blocks:
            allocator.release(block)
        allocator.empty_cache()
    assert first.free_blocks() == second.free_blocks()
    assert (first.reserved, first.most_reserved, first.most_requested) == (
        second.reserved, second.most_reserved, second.most_requested,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_is_followed_as_by_a_list_of_blocks(seed: int) -> None:
    """The rules written down without a thought of speed."""
    rng = random.Random(seed)
    capacity = rng.choice((None, 400 * MIB))
    quick, plain = CachingAllocator(capacity), PlainAllocator(capacity)
    alive: list[tuple[int, int]] = []
    for _ in range(400):
        if alive and rng.random() < 0.48:
            one, other = alive.pop(rng.randrange(len(alive)))
            quick.release(one)
            plain.release(other)
        elif rng.random() < 0.01:
            quick.empty_cache()
            plain.empty_cache()
        else:
            size = int(rng.choice((700, 90_000, MIB, 3 * MIB, 9 * MIB, 40 * MIB)) * rng.uniform(0.3, 1.1))
            try:
                expected = plain.allocate(size)
            except OutOfDeviceMemory:
                with pytest.raises(OutOfDeviceMemory):
                    quick.allocate(size)
                continue
            alive.append((quick.allocate(size), expected))
        assert (quick.allocated, quick.reserved, quick.most_reserved) == (
            plain.allocated, plain.reserved, plain.most_reserved,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_what_comes_and_goes_depends_on_the_sizes_of_what_is_free_and_not_on_where_it_lies(seed: int) -> None:
    found = []
    for order in ((12, 30, 14, 30, 40), (40, 30, 12, 14, 30)):
        allocator = CachingAllocator()
        for block in [allocator.allocate(size * MIB) for size in order]:  # a segment for each
            allocator.release(block)
        before, first = allocator.free_sizes(), allocator.next_address
        rng = random.Random(seed)
        alive: list[int] = []
        peak = 0
        for _ in range(200):
            if alive and rng.random() < 0.45:
                allocator.release(alive.pop(rng.randrange(len(alive))))
            else:
                alive.append(allocator.allocate(rng.choice((600, 30_000, 3 * MIB, 9 * MIB, 25 * MIB))))
            peak = max(peak, allocator.allocated)
        for block in alive:
            allocator.release(block)
        found.append((before, peak, sorted(allocator.segments_since(first)), allocator.free_sizes()))
    assert found[0][0] == ((), tuple(size * MIB for size in (12, 14, 30, 30, 40)))
    assert found[0] == found[1]
