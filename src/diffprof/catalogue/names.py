"""What a model name means: a model on board or of the catalogue, a folder, or one on the hub. Decided without torch."""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path

from diffprof.catalogue.on_board import is_on_board, shapes_folder
from diffprof.catalogue.reader import content, unknown
from diffprof.errors import RequestError

INDEX = "model_index.json"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


class Place(Enum):
    """Where the configuration of a model is."""

    catalogue = "catalogue"
    folder = "folder"
    hub = "hub"


def place_of(model: str | Path) -> Place:
    """What the name means; a known model wins over a folder of the same name, unless it is written as a path."""
    name = str(model)
    looks_like_path = isinstance(model, Path) or name.startswith((".", "/", "~")) or "\\" in name
    if not looks_like_path and content(name) is not None:
        return Place.catalogue
    folder = folder_of(model)
    # An empty name would be the current folder.
    if name and os.path.isdir(folder):  # noqa: PTH112  unlike pathlib's, it takes names of any length
        return Place.folder
    if name and os.path.isfile(folder):  # noqa: PTH113
        raise RequestError(
            f"{name} is a file; give a folder in diffusers layout (a saved profile opens with `diffprof show`)."
        )
    if looks_like_path:
        raise RequestError(f"There is no folder {name}; give a folder in diffusers layout or one of `diffprof models`.")
    if HUB_ID.fullmatch(name):
        return Place.hub
    raise RequestError(unknown(name))


def folder_of(model: str | Path) -> Path:
    """The folder that the name stands for, whether it is there or not."""
    if is_on_board(model):
        return shapes_folder()
    try:
        return Path(model).expanduser()
    except RuntimeError:
        # "~nobody": there is no such user, so it is a name like any other.
        return Path(model)


def is_model_folder(folder: Path) -> bool:
    """Whether a model in diffusers layout is there, as far as this process may look."""
    return os.path.isfile(folder / INDEX)  # noqa: PTH113  pathlib's raises where it may not look, or for a long name
