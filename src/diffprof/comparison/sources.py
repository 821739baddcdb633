"""Saved profiles and models by name, compared: one way for the command line, the history and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffprof.comparison.compare import Comparison, compare
from diffprof.comparison.curves import Count
from diffprof.counting.sources import distinct_labels, open_profile, saved_file


def compare_sources(
    names: Sequence[str], count: Count, images: Sequence[Path | None] = (), curves: bool = False
) -> Comparison:
    """Compare saved profiles, and models as `count` counts them; with `curves` at more sizes and steps."""
    profiles = [open_profile(name, lambda model: count(model, {})) for name in names]
    models = [name if saved_file(name) is None else None for name in names]
    return compare(profiles, distinct_labels(names), images, models, count if curves else None)
