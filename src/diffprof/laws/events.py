"""Allocation events as laws have them: releases in a row by how their ages differ.

A list of images is released one after the other, each as many allocations younger than the one before as an image
takes: by differences that is a repetition, whatever the number of images.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diffprof.record.allocations import RELEASE
from diffprof.record.executed_calls import Event

RELEASE_NEXT = "release next"
"""A release right after another one; its value is how much older it is."""


def with_differences(events: Iterable[Event]) -> Iterator[Event]:
    """The events, with differences of ages."""
    before: int | None = None
    for event in events:
        kind, value, step = event
        if kind != RELEASE:
            before = None
            yield event
        else:
            yield event if before is None else (RELEASE_NEXT, value - before, step)
            before = value


def with_ages(events: Iterable[Event]) -> Iterator[Event]:
    """The events that `with_differences` was given."""
    age = 0
    for event in events:
        kind, value, step = event
        if kind == RELEASE:
            age = value
            yield event
        elif kind == RELEASE_NEXT:
            age += value
            yield RELEASE, age, step
        else:
            yield event
