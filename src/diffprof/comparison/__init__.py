"""Two or more profiles side by side: what differs between their conditions, their counts and their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from diffprof.comparison.conditions import Condition, differing_conditions
from diffprof.comparison.counts import ComponentChange, Figure, compared_components, compared_totals
from diffprof.comparison.parts import PartChange, compared_parts
from diffprof.comparison.picture_difference import PictureDifference
from diffprof.comparison.times import TimeChange, compared_times
from diffprof.errors import RequestError
from diffprof.record.profile import Profile

__all__ = ["Comparison", "Pair", "compare"]


@dataclass(frozen=True)
class Pair:
    """What changed from one profile to another."""

    conditions: tuple[Condition, ...]
    """What these two do not have in common: to be read before any figure."""
    totals: tuple[Figure, ...]
    components: tuple[ComponentChange, ...]
    parts: tuple[PartChange, ...]
    """Calls, operations and modules that were added, removed or changed."""
    times: tuple[TimeChange, ...]
    """Empty where one of them was only counted."""


@dataclass(frozen=True)
class Comparison:
    """Profiles side by side; each after the first is held against the first."""

    names: tuple[str, ...]
    profiles: tuple[Profile, ...]
    conditions: tuple[Condition, ...]
    """What is not the same for all of them."""
    pairs: tuple[Pair, ...]
    """The first with the second, the first with the third..."""
    pictures: tuple[PictureDifference, ...] = field(default=())
    """Of the pairs that have pictures."""


def compare(
    profiles: Sequence[Profile], names: Sequence[str], pictures: Sequence[PictureDifference] = ()
) -> Comparison:
    """Hold each profile against the first."""
    if len(profiles) < 2:
        raise RequestError(f"A comparison needs two profiles or more, not {len(profiles)}.")
    first, *others = profiles
    return Comparison(
        names=tuple(names),
        profiles=tuple(profiles),
        conditions=differing_conditions(profiles),
        pairs=tuple(pair_of(first, other) for other in others),
        pictures=tuple(pictures),
    )


def pair_of(before: Profile, after: Profile) -> Pair:
    """What changed from `before` to `after`."""
    return Pair(
        conditions=differing_conditions((before, after)),
        totals=compared_totals(before, after),
        components=compared_components(before, after),
        parts=compared_parts(before, after),
        times=compared_times(before, after),
    )
