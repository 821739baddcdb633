"""Sets of moments, held against sets of whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diffprof.traces.analysis.intervals import Intervals, covered_lengths, union
from diffprof.traces.reading.columns import Ints

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8)), max_size=12)


def arrays(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    start = np.array([start for start, _ in pairs], dtype=np.int64)
    return start, start + np.array([length for _, length in pairs], dtype=np.int64)


def moments(intervals: Intervals) -> set[int]:
    return {moment for start, end in zip(intervals.start, intervals.end, strict=True) for moment in range(start, end)}


def moments_of(pairs: list[tuple[int, int]]) -> set[int]:
    return {moment for start, length in pairs for moment in range(start, start + length)}


@given(PAIRS)
def test_a_union_holds_what_any_holds_in_order_and_apart(pairs: list[tuple[int, int]]) -> None:
    found = union(*arrays(pairs))
    assert moments(found) == moments_of(pairs)
    assert found.length == len(moments_of(pairs))
    assert (found.start[1:] > found.end[:-1]).all()


@given(PAIRS, PAIRS)
def test_a_difference_holds_what_only_the_first_holds(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert moments(union(*arrays(one)).minus(union(*arrays(other)))) == moments_of(one) - moments_of(other)


@given(PAIRS)
def test_gaps_are_what_is_between_the_first_and_the_last_moment(pairs: list[tuple[int, int]]) -> None:
    held = moments_of(pairs)
    between = set(range(min(held), max(held))) - held if held else set()
    assert moments(union(*arrays(pairs)).gaps()) == between


@given(PAIRS, PAIRS)
def test_covered_is_the_common_part_of_each(busy: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    expected = [len(moments_of([pair]) & moments_of(busy)) for pair in asked]
    assert covered_lengths(union(*arrays(busy)), *arrays(asked)).tolist() == expected
