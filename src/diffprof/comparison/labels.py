"""Short labels for profiles that are given by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffprof.comparison.compare import unique_names
from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import profile_label, saved_file


def profile_name(source: str | None, profile: Profile) -> str:
    """What a comparison calls a profile: its file or model as it was named, else the model that it is of."""
    return profile_label(source) if source is not None else profile.request.model


def distinct_labels(names: Sequence[str]) -> list[str]:
    """Short labels, no two alike: of files as many of their folders as that takes, without the ending."""
    folders = [Path(name).parts[:-1] if saved_file(name) else () for name in names]
    stems = [profile_label(name) for name in names]
    for depth in range(max(map(len, folders)) + 1):
        labels = ["/".join([*parts[len(parts) - depth :], stem]) for parts, stem in zip(folders, stems, strict=True)]
        if len(set(labels)) == len(labels):
            return labels
    # One and the same is given twice, or a file that is named as the model is.
    return unique_names(stems)
