"""The models that a visitor may choose: those of the catalogue, and those in the configured folders."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from diffprof import catalogue
from diffprof import settings as config
from diffprof.catalogue.bundled_model import SHAPES, is_bundled, shapes_folder
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.names import find_in_model_dirs, is_model_folder, resolve
from diffprof.errors import RequestError


def model_choices() -> list[tuple[str, str]]:
    """The labels and values of the dropdown.

    A label contains all names of the model, because the dropdown searches it for what a visitor types.
    """
    bundled = [("shapes (included)", SHAPES)] if is_model_folder(shapes_folder()) else []
    folders = [(f"{folder.name} (folder)", str(folder)) for folder in _configured_models()]
    return [*bundled, *folders, *((_label(entry), entry.name) for entry in catalogue.entries())]


def model_hint(allow_paths: bool) -> str:
    """What can be typed instead of choosing from the list."""
    if allow_paths:
        return "Choose one, or type a name, a hub id or the path of a folder."
    return "Type any of its names to search." + (" Your model folders are listed first." if config.MODEL_DIRS else "")


def choose_model(typed: str | None, allow_paths: bool) -> str:
    """Check that visitors may open the chosen or typed model; other folders are not accessed at all."""
    name = (typed or "").strip()
    if not name:
        raise RequestError("Choose a model.")
    # The default model is configured by the owner, wherever it is.
    if is_bundled(name) or catalogue.find(name) is not None or name == config.DEFAULT_MODEL:
        return name
    folder = find_in_model_dirs(name)
    if folder is not None:
        return str(folder)
    if not allow_paths:
        raise RequestError(
            f"{catalogue.unknown_model_message(name)} Other folders and hub models are available only if the page was "
            "started with --allow-paths, or if the folder is in model_dirs (`diffprof config`)."
        )
    resolve(name)
    return name


def choose_models(typed: Sequence[str] | None, allow_paths: bool) -> list[str]:
    """`choose_model` for several models."""
    return [choose_model(name, allow_paths) for name in typed or ()]


def model_title(name: str) -> str:
    """A short name for charts and tables."""
    entry = catalogue.find(name)
    return entry.name if entry else name.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or name


def _label(entry: Entry) -> str:
    return " · ".join(dict.fromkeys((entry.title, *entry.names)))


def _configured_models() -> list[Path]:
    found = []
    for folder in map(Path.absolute, config.MODEL_DIRS):
        with contextlib.suppress(OSError):  # skip folders that are missing or unreadable
            found += sorted(filter(is_model_folder, folder.iterdir()))
    return found
