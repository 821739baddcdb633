"""Allocation events of laws: the ages of consecutive releases are stored as differences.

The images of a list are released one after the other, each the same number of allocations younger than the last one.
As differences, these releases are a repetition for any number of images.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diffprof.record.allocations import RELEASE
from diffprof.record.executed_calls import Event

RELEASE_NEXT = "release next"
"""A release right after another one; its value is the difference of their ages."""


def with_differences(events: Iterable[Event]) -> Iterator[Event]:
    """Convert ages to differences."""
    before: int | None = None
    for event in events:
        kind, value, step = event
        if kind != RELEASE:
            before = None
            yield event
        else:
            yield event if before is None else (RELEASE_NEXT, value - before, step)
            before = value
