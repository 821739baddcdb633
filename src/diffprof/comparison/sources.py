"""Saved profiles and models by name, compared: one way for the command line, the history and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.comparison import Comparison, compare
from diffprof.counting.sources import distinct_labels, open_profile, saved_file

if TYPE_CHECKING:
    from diffprof.comparison.curves import Count


@dataclass(frozen=True)
class Sources:
    """What is compared: each name is a saved profile or a model, which `count` counts."""

    names: Sequence[str]
    count: Count
    images: Sequence[Path | None] = ()
    """What each of them generated, where there is an image."""

    def compare(self) -> Comparison:
        """Each profile held against the first, and each image against the first one."""
        profiles = [open_profile(name, lambda model: self.count(model, {})) for name in self.names]
        first, *others = self.images or (None,)
        pairs = [(first, other) for other in others if first and other]
        differences = []
        if pairs:
            # Images need numpy and pillow; numbers alone do not.
            from diffprof.comparison.pictures import picture_difference

            differences = [picture_difference(*pair) for pair in pairs]
        return compare(profiles, distinct_labels(self.names), differences)

    def html(self, comparison: Comparison) -> str:
        """The comparison as a page, with the models counted at more sizes and steps."""
        from diffprof.comparison.curves import growth
        from diffprof.comparison.views.page import comparison_html

        models = [name if saved_file(name) is None else None for name in self.names]
        files = {name for pair in comparison.pictures for name in (pair.before, pair.after)}
        images: Mapping[str, bytes] = {name: Path(name).read_bytes() for name in files}
        curves = growth(models, comparison.names, comparison.profiles, self.count)
        return comparison_html(comparison, images, curves)
