"""Which models a visitor may choose: those that diffprof knows, and those in the folders that the owner named."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from diffprof import catalogue
from diffprof import settings as config
from diffprof.catalogue.names import is_model_folder, resolve
from diffprof.catalogue.on_board import SHAPES, is_on_board, shapes_folder
from diffprof.catalogue.reader import unknown
from diffprof.errors import RequestError


def model_choices() -> list[tuple[str, str]]:
    """What is offered: a title for people, and the name that `chosen_model` takes."""
    on_board = [("shapes (on board)", SHAPES)] if is_model_folder(shapes_folder()) else []
    folders = [(f"{folder.name} (folder)", str(folder)) for folder in _configured_models()]
    return [*on_board, *folders, *((entry.title, entry.name) for entry in catalogue.entries())]


def chosen_model(typed: str | None, allow_paths: bool) -> str:
    """What was chosen or typed, if this visitor may open it; nothing outside of the named folders is looked at."""
    name = (typed or "").strip()
    if not name:
        raise RequestError("Choose a model.")
    # The usual model is the owner's choice, wherever it is.
    if is_on_board(name) or catalogue.find(name) is not None or name == config.DEFAULT_MODEL:
        return name
    folder = _configured(name)
    if folder is not None:
        return str(folder)
    if not allow_paths:
        raise RequestError(
            f"{unknown(name)} Other folders and models of the hub are opened only where the page was started with "
            "--allow-paths, or with the folder in model_dirs (`diffprof config`)."
        )
    resolve(name)
    return name


def chosen_models(typed: Sequence[str] | None, allow_paths: bool) -> list[str]:
    """The same for several."""
    return [chosen_model(one, allow_paths) for one in typed or ()]


def model_title(name: str) -> str:
    """A short name for figures and tables."""
    entry = catalogue.find(name)
    return entry.name if entry else name.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or name


def _configured_models() -> list[Path]:
    found = []
    for folder in map(Path.absolute, config.MODEL_DIRS):
        with contextlib.suppress(OSError):  # one that is not there, or not for this process to read, offers nothing
            found += sorted(filter(is_model_folder, folder.iterdir()))
    return found


def _configured(name: str) -> Path | None:
    """The folder inside one of those that the owner named, by its name there or by its whole path."""
    for folder in map(Path.absolute, config.MODEL_DIRS):
        # Without a look at the disk: `..` must not lead out, while a link that the owner has put there may.
        inside, root = Path(os.path.normpath(folder / name)), Path(os.path.normpath(folder))
        if inside != root and inside.is_relative_to(root) and is_model_folder(inside):
            return inside
    return None
