"""What a profile to compare is: a saved one, or a model that is counted now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from diffprof.cli.run_files import REPORT
from diffprof.errors import RequestError
from diffprof.record.profile import Profile

ENDINGS = (".json", ".json.gz", ".gz")
NAMED_AFTER_A_PICTURE = ".profile"
"""What `diffprof generate` puts between the name of a picture and the ending of its profile."""


def saved_file(name: str) -> Path | None:
    """The file of a saved profile that a name means, there or not; None for a model."""
    path = Path(name)
    if (path / REPORT).is_file():
        return path / REPORT  # what `diffprof run` left
    made = sorted(path.glob(f"*{NAMED_AFTER_A_PICTURE}.json")) if path.is_dir() else []
    if len(made) > 1:
        raise RequestError(f"{name} has {len(made)} profiles in it; name one of them, such as {made[0]}.")
    if made:
        return made[0]  # what `diffprof generate` left
    return path if path.is_file() or name.lower().endswith(ENDINGS) else None


def opened(name: str, count: Callable[[str], Profile]) -> Profile:
    """The saved profile of that name, else the model of that name as `count` counts it."""
    file = saved_file(name)
    if file is None:
        return count(name)
    from diffprof.cli.show import load_saved

    return load_saved(file)


def labels(names: Sequence[str]) -> list[str]:
    """Short names that tell the profiles apart: of files as many of their folders as that takes, without the ending."""
    folders = [Path(name).parts[:-1] if saved_file(name) else () for name in names]
    stems = [_stem(name) for name in names]
    for depth in range(max(map(len, folders)) + 1):
        told = ["/".join([*parts[len(parts) - depth :], stem]) for parts, stem in zip(folders, stems, strict=True)]
        if len(set(told)) == len(told):
            return told
    # One and the same is given twice, or a file that is named as the model is.
    return [f"{name} ({stems[: place + 1].count(name)})" for place, name in enumerate(stems)]


def picture_beside(name: str) -> Path | None:
    """The picture that has a saved profile's name."""
    file = saved_file(name)
    if file is None:
        return None
    pictures = [file.with_name(_stem(file.name) + ending) for ending in (".png", ".jpg", ".jpeg", ".webp")]
    return next((picture for picture in pictures if picture.is_file()), None)


def _stem(name: str) -> str:
    if saved_file(name) is None:
        return name
    last = Path(name).name
    stem = next(
        (last[: -len(ending)] for ending in (".json.gz", ".json", ".gz") if last.lower().endswith(ending)), last
    )
    return stem.removesuffix(NAMED_AFTER_A_PICTURE)
