"""Releases in a row, by how their ages differ."""

from __future__ import annotations

from diffprof.laws.events import RELEASE_NEXT, with_differences
from diffprof.record.allocations import ALLOCATE, RELEASE

EVENTS = [(ALLOCATE, 8, 0), (RELEASE, 9, 0), (RELEASE, 6, 0), (RELEASE, 3, 0), (ALLOCATE, 8, 0), (RELEASE, 1, 0)]


def test_a_list_that_is_released_becomes_a_repetition() -> None:
    again = (RELEASE_NEXT, -3, 0)
    assert list(with_differences(EVENTS)) == [*EVENTS[:2], again, again, *EVENTS[4:]]
