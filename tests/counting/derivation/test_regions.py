"""Sizes between which a pipeline does the same."""

from __future__ import annotations

from math import prod

import pytest

from diffprof.counting.derivation.regions import MAX_SIZES_TRIED, Region, find_regions, sizes_by_area
from diffprof.laws.packing import NoLaw

SIZES = sizes_by_area(256, 2048, 8, 2048 * 2048)


def test_sizes_are_whole_cells_with_growing_areas() -> None:
    areas = [prod(size) for size in SIZES]
    assert areas == sorted(set(areas))
    assert all(side % 16 == 0 and 256 <= side <= 2048 for size in SIZES for side in size)
    assert SIZES[0] == (256, 256) and SIZES[-1] == (2048, 2048)
    assert sizes_by_area(256, 512, 64, 300 * 300)[-1] == (256, 320)


def test_the_size_from_which_something_else_is_done_is_found_exactly() -> None:
    largest = 1920 * 1024

    def form_of(size: tuple[int, int]) -> int | None:
        return int(prod(size) > largest)

    first, second = find_regions(SIZES, form_of)
    assert prod(first.largest) == largest
    assert first.smallest == (256, 256) and second.largest == (2048, 2048)
    assert SIZES.index(second.smallest) == SIZES.index(first.largest) + 1


def test_sizes_that_are_not_taken_belong_to_no_region() -> None:
    def form_of(size: tuple[int, int]) -> int | None:
        return 1 if prod(size) >= 512 * 512 else None

    assert find_regions(SIZES, form_of) == [Region((512, 512), (2048, 2048))]


def test_where_every_size_is_different_nothing_is_found() -> None:
    looked_at = []

    def form_of(size: tuple[int, int]) -> int | None:
        looked_at.append(size)
        return hash(size)

    with pytest.raises(NoLaw, match="too many sizes"):
        find_regions(SIZES, form_of)
    assert len(looked_at) <= MAX_SIZES_TRIED + 1
