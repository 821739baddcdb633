"""Short labels for profiles in a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffprof.comparison.compare import unique_names
from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import profile_label, saved_file


def profile_name(source: str | None, profile: Profile) -> str:
    """The name of a profile in a comparison: the given file or model, else the model of its request."""
    return profile_label(source) if source is not None else profile.request.model


def distinct_labels(names: Sequence[str]) -> list[str]:
    """Distinct short labels: file names without their ending, with as many folders as needed."""
    folders = [Path(name).parts[:-1] if saved_file(name) else () for name in names]
    stems = [profile_label(name) for name in names]
    for depth in range(max(map(len, folders)) + 1):
        labels = ["/".join([*parts[len(parts) - depth :], stem]) for parts, stem in zip(folders, stems, strict=True)]
        if len(set(labels)) == len(labels):
            return labels
    # The same profile is given twice, or a file has the name of a model.
    return unique_names(stems)
