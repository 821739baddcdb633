"""Find ranges of sizes with the same program: a dry run computes small tables, but not large ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt

from diffprof.laws.law import VOLUME_CELL
from diffprof.laws.packing import NoLaw

Size = tuple[int, int]
"""Height and width."""

GRID = 5
"""The number of sizes to try first, from the smallest to the largest."""
MAX_ASPECT = 4
MAX_SIZES_TRIED = 60


@dataclass(frozen=True)
class Region:
    """A range of sizes of one form."""

    smallest: Size
    largest: Size


def sizes_by_area(least: int, most: int, cell: int, most_area: int) -> list[Size]:
    """Return the squarest size of whole cells for each possible area, in the order of areas."""
    cell = max(cell, VOLUME_CELL)
    sides = range(-(-least // cell), most // cell + 1)
    found: dict[int, Size] = {}
    for low in sides:
        for high in range(low, min(MAX_ASPECT * low, sides[-1]) + 1):
            if low * high * cell * cell <= most_area and (low * high not in found or low > found[low * high][0]):
                found[low * high] = (low, high)
    return [(found[area][0] * cell, found[area][1] * cell) for area in sorted(found)]


def find_regions(sizes: Sequence[Size], form_of: Callable[[Size], int | None]) -> list[Region]:
    """Return the runs of sizes that have the same form; None is the form of sizes that the pipeline refuses."""
    forms: dict[int, int | None] = {}

    def form(place: int) -> int | None:
        if place not in forms:
            if len(forms) > MAX_SIZES_TRIED:
                raise NoLaw("too many sizes at which other operations are executed")
            forms[place] = form_of(sizes[place])
        return forms[place]

    def search_between(low: int, high: int) -> None:
        if high - low > 1 and form(low) != form(high):
            middle = (low + high) // 2
            form(middle)
            search_between(low, middle)
            search_between(middle, high)

    places = _grid(sizes)
    for place in places:
        form(place)
    for low, high in pairwise(places):
        search_between(low, high)
    return _runs(sizes, forms)


def _grid(sizes: Sequence[Size]) -> list[int]:
    """Return the positions of sizes whose sides are evenly spaced."""
    sides = [isqrt(height * width) for height, width in sizes]
    targets = [sides[0] + (sides[-1] - sides[0]) * part / (GRID - 1) for part in range(GRID)]
    return sorted({min(range(len(sides)), key=lambda place: abs(sides[place] - side)) for side in targets})


def _runs(sizes: Sequence[Size], forms: dict[int, int | None]) -> list[Region]:
    regions: list[Region] = []
    before: int | None = None
    for place in sorted(forms):
        form = forms[place]
        if form is not None and form == before:
            regions[-1] = Region(regions[-1].smallest, sizes[place])
        elif form is not None:
            regions.append(Region(sizes[place], sizes[place]))
        before = form
    return regions
