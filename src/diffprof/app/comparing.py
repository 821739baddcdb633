"""Profiles side by side for the page: from models, uploads and runs, with curves over size and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.app.choices import model_title
from diffprof.app.counting import counted
from diffprof.comparison.curves import Growth, growth
from diffprof.errors import FileFormatError, RequestError
from diffprof.record.files import load
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, Progress, ProgressEvent

MOST = 12
LARGEST_UPLOAD = 64 << 20
"""In bytes, as it is sent and as it is unpacked: a small file can stand for a very large one."""


@dataclass(frozen=True)
class SideBySide:
    """What is compared, under names that tell them apart."""

    profiles: Sequence[Profile]
    names: Sequence[str]
    growth: Growth | None = None


def side_by_side(
    models: Sequence[str], uploads: Sequence[str], arguments: Mapping[str, Any], curves: bool, progress: Progress
) -> SideBySide:
    """Count the models and read the uploads."""
    if len(models) + len(uploads) < 2:
        raise RequestError("Choose two models or more, or upload saved profiles.")
    if len(models) + len(uploads) > MOST:
        raise RequestError(f"At most {MOST} can be compared at once, not {len(models) + len(uploads)}.")
    saved = [uploaded(Path(path)) for path in uploads]
    profiles = [counted(model, arguments, progress) for model in models]
    names = told_apart([*map(model_title, models), *(Path(path).name for path in uploads)])
    found = [*profiles, *saved]

    def count(model: str, change: Mapping[str, Any]) -> Profile:
        progress(ProgressEvent(Activity.counting, model_title(model), changes=change))
        return counted(model, {**arguments, **change}, progress)

    sources = [*models, *[None] * len(saved)]
    return SideBySide(found, names, growth(sources, names, found, count) if curves else None)


def uploaded(path: Path) -> Profile:
    """A saved profile that a visitor sent; its errors name the file as the visitor does."""
    try:
        return load(path, LARGEST_UPLOAD)
    except FileFormatError as error:
        raise FileFormatError(str(error).replace(str(path), path.name)) from None


def told_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that come more than once."""
    return [
        name if names.count(name) == 1 else f"{name} ({list(names[: place + 1]).count(name)})"
        for place, name in enumerate(names)
    ]
