"""A profile by name: a saved one that is read without torch, or a model that is counted now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from diffprof import catalogue
from diffprof.errors import FileFormatError, OtherFormatError, RequestError
from diffprof.record.files import load
from diffprof.record.profile import Profile

RUN_REPORT = "profiling_report.json"
"""The profile in the folder that `diffprof run` writes."""

PROFILE_ENDINGS = (".json.gz", ".json", ".gz")
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
GENERATED = ".profile"
"""What `diffprof generate` puts between the name of an image and the ending of its profile."""


def open_profile(name: str, count: Callable[[str], Profile]) -> Profile:
    """The saved profile of that name, else the model of that name as `count` counts it."""
    file = saved_file(name)
    return count(name) if file is None else load_saved(file)


def saved_file(name: str) -> Path | None:
    """The file of a saved profile that a name means, there or not; None for a model."""
    path = Path(name)
    if (path / RUN_REPORT).is_file():
        return path / RUN_REPORT
    generated = sorted(path.glob(f"*{GENERATED}.json")) if path.is_dir() else []
    if len(generated) > 1:
        raise RequestError(f"{name} has {len(generated)} profiles in it; name one of them, such as {generated[0]}.")
    if generated:
        return generated[0]
    return path if path.is_file() or name.lower().endswith(PROFILE_ENDINGS) else None


def load_saved(file: Path) -> Profile:
    """The saved profile; an error says what to do about a file that is none."""
    try:
        return load(file)
    except FileFormatError as error:
        advice = _advice(file, error)
        if not advice:
            raise
        raise FileFormatError(f"{str(error).rstrip('.')}; {advice}.") from error


def distinct_labels(names: Sequence[str]) -> list[str]:
    """Short labels, no two alike: of files as many of their folders as that takes, without the ending."""
    folders = [Path(name).parts[:-1] if saved_file(name) else () for name in names]
    stems = [_stem(name) for name in names]
    for depth in range(max(map(len, folders)) + 1):
        labels = ["/".join([*parts[len(parts) - depth :], stem]) for parts, stem in zip(folders, stems, strict=True)]
        if len(set(labels)) == len(labels):
            return labels
    # One and the same is given twice, or a file that is named as the model is.
    return [f"{name} ({stems[: place + 1].count(name)})" for place, name in enumerate(stems)]


def image_beside(name: str) -> Path | None:
    """The image that has a saved profile's name."""
    file = saved_file(name)
    if file is None:
        return None
    images = [file.with_name(_stem(file.name) + ending) for ending in IMAGE_ENDINGS]
    return next((image for image in images if image.is_file()), None)


def _stem(name: str) -> str:
    if saved_file(name) is None:
        return name
    last = Path(name).name
    stem = next((last[: -len(ending)] for ending in PROFILE_ENDINGS if last.lower().endswith(ending)), last)
    return stem.removesuffix(GENERATED)


def _advice(file: Path, error: FileFormatError) -> str:
    """What to do about a file that cannot be read; nothing where the error says it, or where nobody can know."""
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError):
        known = catalogue.content(str(file)) is not None
        return f"it is a model's name: count it with `diffprof profile {file}`" if known else ""
    if isinstance(cause, IsADirectoryError):
        return "name the profile in it"
    unreadable = isinstance(cause, OSError) and cause.errno is not None
    if unreadable or isinstance(error, OtherFormatError):
        return ""
    if isinstance(cause, UnicodeDecodeError) or not file.name.lower().endswith(PROFILE_ENDINGS):
        # It is something else, such as weights or an image, that must not be written over.
        return "a profile is what `diffprof profile MODEL -o FILE.json` writes"
    again = f"make it again with `diffprof profile ... -o {file}`"
    return f"despite its name it is not compressed with gzip, {again}" if _is_falsely_gz(file) else again


def _is_falsely_gz(file: Path) -> bool:
    if not file.name.lower().endswith(".gz"):
        return False
    with file.open("rb") as stream:
        return stream.read(2) != b"\x1f\x8b"
