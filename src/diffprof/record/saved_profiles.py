"""Saved profiles by name: find the file, load its profile and find its image."""

from __future__ import annotations

from pathlib import Path

from diffprof.errors import FileFormatError, FileProblem, RequestError
from diffprof.record.files import load
from diffprof.record.profile import Profile

RUN_REPORT = "profiling_report.json"
"""The profile in the folder that `diffprof run` writes."""

PROFILE_ENDINGS = (".json.gz", ".json", ".gz")
WEIGHT_ENDINGS = (".safetensors", ".sft", ".gguf")
PICKLE_ENDINGS = (".ckpt", ".bin", ".pt", ".pth", ".pkl")
"""Files that contain, or claim to contain, a model; never a profile."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
GENERATED = ".profile"
"""The infix of profiles that `diffprof generate` writes next to an image."""


def saved_file(name: str) -> Path | None:
    """Return the file of a saved profile for a name, existing or not; None for a model."""
    path = Path(name)
    if (path / RUN_REPORT).is_file():
        return path / RUN_REPORT
    generated = sorted(path.glob(f"*{GENERATED}.json")) if path.is_dir() else []
    if len(generated) > 1:
        raise RequestError(f"{name} has {len(generated)} profiles in it; name one of them, such as {generated[0]}.")
    if generated:
        return generated[0]
    if name.lower().endswith((*WEIGHT_ENDINGS, *PICKLE_ENDINGS)):
        return None
    return path if path.is_file() or name.lower().endswith(PROFILE_ENDINGS) else None


def load_saved(file: Path) -> Profile:
    """Load a saved profile; errors say what to do about a file that is not one."""
    try:
        return load(file)
    except FileFormatError as error:
        advice = _advice(file, error)
        if not advice:
            raise
        raise FileFormatError(f"{str(error).rstrip('.')}; {advice}.", error.reason) from error


def image_of_profile(name: str) -> Path | None:
    """Return the image of a saved profile."""
    file = saved_file(name)
    if file is None:
        return None
    images = [file.with_name(profile_label(file.name) + ending) for ending in IMAGE_ENDINGS]
    return next((image for image in images if image.is_file()), None)


def profile_label(name: str) -> str:
    """Return the name of a saved profile without folders and endings; a model's name is unchanged."""
    if saved_file(name) is None:
        return name
    last = Path(name).name
    stem = next((last[: -len(ending)] for ending in PROFILE_ENDINGS if last.lower().endswith(ending)), last)
    return stem.removesuffix(GENERATED)


def _advice(file: Path, error: FileFormatError) -> str:
    """Return what to do about a file that cannot be read; empty if the error says it, or if nothing is known."""
    if error.reason is FileProblem.folder:
        return "name the profile in it"
    if error.reason in (FileProblem.missing, FileProblem.unreadable, FileProblem.other_format):
        return ""
    if error.reason is FileProblem.not_text or not file.name.lower().endswith(PROFILE_ENDINGS):
        # It is something else, such as weights or an image, which must not be overwritten.
        return "a profile is what `diffprof profile MODEL -o FILE.json` writes"
    again = f"make it again with `diffprof profile ... -o {file.name}`"
    return f"despite its name it is not compressed with gzip, {again}" if _is_misnamed_gz(file) else again


def _is_misnamed_gz(file: Path) -> bool:
    if not file.name.lower().endswith(".gz"):
        return False
    with file.open("rb") as stream:
        return stream.read(2) != b"\x1f\x8b"
