"""Compare two or more profiles: their conditions, counts and times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from diffprof.comparison.conditions import Condition, differing_conditions
from diffprof.comparison.counts import ComponentChange, CountChange, component_changes, total_changes
from diffprof.comparison.curves import Count, Growth, growth
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.memory_change import MemoryChange, memory_change
from diffprof.comparison.parts import PartChange, part_changes
from diffprof.comparison.times import TimeChange, time_changes
from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.record.display import Displayed, find_function
from diffprof.record.profile import Profile

if TYPE_CHECKING:
    from diffprof.comparison.predictions import PredictedChange


@dataclass(frozen=True)
class Pair:
    """The changes from one profile to another."""

    conditions: tuple[Condition, ...]
    """Conditions that differ, which can explain other differences."""
    totals: tuple[CountChange, ...]
    components: tuple[ComponentChange, ...]
    parts: tuple[PartChange, ...]
    """Calls, operations and modules that were added, removed or changed."""
    times: tuple[TimeChange, ...]
    """Changes of times; empty if one of the two was only counted."""
    predictions: tuple[PredictedChange, ...] = ()
    """Predicted changes on the requested accelerators."""
    memory: MemoryChange | None = None
    """The change of measured memory; None if one of the two was only counted."""
    profiles: tuple[Profile, ...] = ()
    """The two profiles."""


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """A comparison of several profiles, each with the first."""

    names: tuple[str, ...]
    """Unique names of the profiles."""
    profiles: tuple[Profile, ...]
    conditions: tuple[Condition, ...]
    """The conditions in which any of the profiles differ."""
    pairs: tuple[Pair, ...]
    """The first with the second, the first with the third..."""
    images: tuple[ImageDifference, ...] = ()
    """Differences of the images, for pairs that have them."""
    growth: Growth | None = None
    """How the cost of the models grows with size and steps, if that was requested."""

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.names)}>"

    def to_dict(self) -> dict[str, Any]:
        """All differences as plain dictionaries, lists, strings and exact numbers, as ``--json`` prints them."""
        return cast("dict[str, Any]", json.loads(find_function("diffprof.comparison.views.data:comparison_json")(self)))

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page with charts."""
        page: str = find_function("diffprof.comparison.views.page:comparison_html")(self)
        return replace_file(path, page.encode())


def compare(
    profiles: Sequence[Profile],
    names: Sequence[str],
    images: Sequence[Path | None] = (),
    models: Sequence[str | None] = (),
    count: Count | None = None,
    accelerators: Sequence[str] = (),
) -> Comparison:
    """Compare each profile with the first; names that occur more than once are numbered.

    `images` are the generated files, None for a profile without one. With `count`, each of the `models` is also counted
    at other sizes and steps; `models` has None for a saved profile, which is a single point of the curves. Memory and
    time are predicted for the `accelerators`.
    """
    if len(profiles) < 2:
        raise RequestError(f"A comparison needs at least two profiles, not {len(profiles)}.")
    first, *others = profiles
    names = unique_names(names)
    return Comparison(
        names=tuple(names),
        profiles=tuple(profiles),
        conditions=differing_conditions(profiles),
        pairs=tuple(compare_pair(first, other, accelerators) for other in others),
        images=_compare_images(images),
        growth=None if count is None else growth(models, names, profiles, count),
    )


def compare_two(before: Profile, after: Profile) -> Comparison:
    """Compare two profiles under the names of their models."""
    return compare((before, after), (before.request.model, after.request.model))


def compare_pair(before: Profile, after: Profile, accelerators: Sequence[str] = ()) -> Pair:
    """The changes from `before` to `after`, including predictions for accelerators."""
    return Pair(
        conditions=differing_conditions((before, after)),
        totals=total_changes(before, after),
        components=component_changes(before, after),
        parts=part_changes(before, after),
        times=time_changes(before, after),
        predictions=_predictions(before, after, accelerators),
        memory=memory_change(before, after),
        profiles=(before, after),
    )


def _predictions(before: Profile, after: Profile, accelerators: Sequence[str]) -> tuple[PredictedChange, ...]:
    """Imported here, because only predictions need numpy."""
    if not accelerators:
        return ()
    from diffprof.comparison.predictions import predicted_changes

    return predicted_changes(before, after, accelerators)


def unique_names(names: Sequence[str]) -> list[str]:
    """Add a number to names that occur more than once."""
    return [
        name if names.count(name) == 1 else f"{name} ({list(names[: place + 1]).count(name)})"
        for place, name in enumerate(names)
    ]


def _compare_images(images: Sequence[Path | None]) -> tuple[ImageDifference, ...]:
    """Compare each image with the first; images need numpy and pillow, profiles do not."""
    first, *others = images or (None,)
    pairs = [(first, other) for other in others if first and other]
    if not pairs:
        return ()
    from diffprof.comparison.images import image_difference

    return tuple(image_difference(*pair) for pair in pairs)
