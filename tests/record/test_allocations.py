"""A sequence of allocations is written as few numbers, and comes back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent, compress, step_number, step_places

EVENTS = (*(AllocationEvent(ALLOCATE, 512 * n) for n in range(1, 6)), AllocationEvent(RELEASE, 1))


@given(st.lists(st.integers(0, 5), max_size=60))
def test_what_is_compressed_comes_back(numbers: list[int]) -> None:
    assert compress(EVENTS, numbers).expand() == numbers


def test_equal_blocks_are_written_once() -> None:
    block = [0, 1, 5, 2, 5, 3]
    sequence = compress(EVENTS, block * 1000)
    assert sequence.expand() == block * 1000
    assert len(sequence.order) == len(block) + 2


@given(st.integers(-1000, 1000))
def test_a_step_is_never_negative(places: int) -> None:
    assert step_number(places) >= 0
    assert step_places(step_number(places)) == places
