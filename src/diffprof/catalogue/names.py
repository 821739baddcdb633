"""Resolve model names: a model of the catalogue, the bundled model, a folder, a weight file or a hub id.

All commands, the page and Python use `resolve`, so that a name means the same model everywhere. Does not need torch.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path

from diffprof import settings
from diffprof.catalogue.bundled_model import SHAPES, is_bundled, shapes_folder
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.reader import find, unknown_model_message
from diffprof.errors import RequestError, UnsafeModelError
from diffprof.record.saved_profiles import PICKLE_ENDINGS, PROFILE_ENDINGS, WEIGHT_ENDINGS

INDEX = "model_index.json"
MODULAR_INDEX = "modular_model_index.json"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


class Place(Enum):
    """Where the configuration of a model comes from."""

    catalogue = "catalogue"
    folder = "folder"
    file = "file"
    """A single weight file, identified by its header."""
    hub = "hub"


@dataclass(frozen=True)
class ResolvedModel:
    """The model that a name refers to."""

    given: str | Path
    place: Place
    folder: Path | None = None
    """The folder of its files, if they are in one."""
    file: Path | None = None
    """The weight file, if it is one."""

    @cached_property
    def entry(self) -> Entry | None:
        """The catalogue's entry for the name, even if its files are in a folder; None for a path."""
        return None if looks_like_path(self.given) else find(str(self.given))

    @property
    def name(self) -> str:
        """The short name of a model of the catalogue, else the name as given."""
        if is_bundled(self.given):
            return SHAPES
        entry = self.entry
        return entry.name if entry else str(self.given)


def resolve(model: str | Path) -> ResolvedModel:
    """Find the model that a name refers to; a `RequestError` suggests others if there is none.

    A name that is not written as a path is looked up in this order: the bundled model, a folder in one of
    `diffprof.config.MODEL_DIRS`, a model of the catalogue, a folder, a weight file, a model on the hub.
    """
    name = str(model)
    if is_bundled(model):
        return ResolvedModel(model, Place.folder, shapes_folder())
    if not looks_like_path(model):
        configured = find_in_model_dirs(name)
        if configured is not None:
            return ResolvedModel(model, Place.folder, configured)
        entry = find(name)
        if entry is not None:
            return _user_model(model, entry) or _catalogue_model(model, entry)
    folder = _expand(model)
    # An empty name would mean the current folder.
    if name and os.path.isdir(folder):  # noqa: PTH112  unlike pathlib's, it takes names of any length
        return _model_in_folder(model, folder)
    if name and os.path.isfile(folder):  # noqa: PTH113
        _check_weight_file(folder, name)
        return ResolvedModel(model, Place.file, file=folder)
    if folder.suffix.lower() in (*WEIGHT_ENDINGS, *PICKLE_ENDINGS):
        raise RequestError(f"There is no file {name}; give a weight file, a folder or one of `diffprof models`.")
    if looks_like_path(model):
        raise RequestError(f"There is no folder {name}; give a folder in diffusers layout or one of `diffprof models`.")
    if HUB_ID.fullmatch(name):
        return ResolvedModel(model, Place.hub)
    raise RequestError(unknown_model_message(name))


def _model_in_folder(model: str | Path, folder: Path) -> ResolvedModel:
    """The model in a folder: a folder of the hub's cache means its current revision, one with a single weight file
    means that file."""
    if is_model_folder(folder):
        return ResolvedModel(model, Place.folder, folder)
    current = _current_snapshot(folder)
    if current is not None:
        return ResolvedModel(model, Place.folder, current)
    file = _only_weight_file(folder)
    if file is not None:
        return ResolvedModel(model, Place.file, file=file)
    return ResolvedModel(model, Place.folder, folder)


def _current_snapshot(folder: Path) -> Path | None:
    """The revision of ``main`` in a folder of the hub's cache (``models--org--name``), else its only revision."""
    try:
        revisions = sorted((folder / "snapshots").iterdir())
    except OSError:
        return None
    try:
        named = _short_text(folder / "refs" / "main")
    except (OSError, ValueError):
        named = ""
    current = [place for place in revisions if place.name == named] or (revisions if len(revisions) == 1 else [])
    return current[0] if current and is_model_folder(current[0]) else None


def _short_text(file: Path) -> str:
    """The beginning of a regular file; empty for a pipe or a device, which may never end."""
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        return opened.read(100).decode("utf-8").strip()


def _only_weight_file(folder: Path) -> Path | None:
    """The weight file of a folder that has only one, and no configuration."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  unlike pathlib's, it takes names of any length
    except OSError:
        return None
    if any(name.endswith("config.json") for name in names):
        return None
    files = [name for name in names if Path(name).suffix.lower() in WEIGHT_ENDINGS]
    return folder / files[0] if len(files) == 1 else None


def _check_weight_file(file: Path, name: str) -> None:
    """Refuse files that are not weight files, and pickles, which could run code."""
    ending = file.suffix.lower()
    if ending in PICKLE_ENDINGS:
        raise UnsafeModelError(
            f"{name} is a pickle, which can run code when it is read; "
            "convert it to safetensors (diffusers and ComfyUI can) and use that file"
        )
    if name.lower().endswith(PROFILE_ENDINGS):
        raise RequestError(f"{name} is not a model; if it is a saved profile, print it with `diffprof show {name}`.")
    if ending not in WEIGHT_ENDINGS:
        raise RequestError(
            f"{name} is a file, but not a weight file ({', '.join(WEIGHT_ENDINGS)}); give one, or a folder in "
            "diffusers layout."
        )


def _catalogue_model(model: str | Path, entry: Entry) -> ResolvedModel:
    resolved = ResolvedModel(model, Place.catalogue)
    vars(resolved)["entry"] = entry  # fills the cached property, which would search again
    return resolved


def _user_model(model: str | Path, entry: Entry) -> ResolvedModel | None:
    """The files of a user's own model, if they are on this machine."""
    if entry.path is None or not os.path.exists(entry.path):  # noqa: PTH110  takes names of any length
        return None
    return replace(resolve(Path(entry.path)), given=model)


def looks_like_path(model: str | Path) -> bool:
    """Whether the name is written as a path, so that it can only mean a folder or a file."""
    name = str(model)
    return isinstance(model, Path) or name.startswith((".", "/", "~")) or "\\" in name


def is_model_folder(folder: Path) -> bool:
    """Whether the folder has a model in diffusers layout; False if it cannot be read."""
    # Not pathlib's, which raises without permission, or for a long name.
    return any(os.path.isfile(folder / name) for name in (INDEX, MODULAR_INDEX))  # noqa: PTH113


def find_in_model_dirs(name: str) -> Path | None:
    """Find a model folder inside one of `MODEL_DIRS`, by its name there or its whole path.

    A catalogue model is found by any of its names.
    """
    parents = settings.MODEL_DIRS
    entry = find(name) if parents else None
    for parent in map(Path.absolute, parents):
        root = Path(os.path.normpath(parent))
        for known in entry.names if entry else (name,):
            # Compared as text: `..` must not lead out of the folder, but the owner's symbolic links may.
            folder = Path(os.path.normpath(parent / known))
            if folder != root and folder.is_relative_to(root) and is_model_folder(folder):
                return folder
    return None


def _expand(model: str | Path) -> Path:
    try:
        return Path(model).expanduser()
    except RecursionError:
        raise  # a RuntimeError that is not about the home directory
    except RuntimeError:
        # "~nobody": there is no such user, so it is an ordinary name.
        return Path(model)
