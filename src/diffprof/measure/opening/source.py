"""Finds out what a model name means: a catalogue name, a folder or a hub id."""

from __future__ import annotations

import re
from pathlib import Path

from diffprof.catalogue import find, nearest
from diffprof.errors import RequestError
from diffprof.measure.opening.blueprint import Blueprint, from_entry
from diffprof.measure.opening.folder import from_folder

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def blueprint_of(model: str | Path) -> Blueprint:
    """The plan of a model that is given by name; a folder that exists wins over a name only when it is a path."""
    name = str(model)
    folder = Path(name).expanduser()
    looks_like_path = isinstance(model, Path) or name.startswith((".", "/", "~")) or "\\" in name
    entry = None if looks_like_path else find(name)
    if entry is not None:
        return from_entry(entry)
    if folder.is_dir():
        return from_folder(folder, name)
    if looks_like_path and not folder.is_file():
        raise RequestError(f"there is no folder {name}; give a folder in diffusers layout or one of `diffprof models`")
    if folder.is_file():
        raise RequestError(
            f"{name} is a file; give a folder in diffusers layout (a saved profile opens with `diffprof show`)"
        )
    if HUB_ID.fullmatch(name):
        from diffprof.measure.opening.hub import fetch_configuration

        return from_folder(fetch_configuration(name), name, source="hub")
    hints = nearest(name)
    hint = f"did you mean {' or '.join(hints)}?" if hints else "`diffprof models` lists the known ones."
    raise RequestError(f"unknown model {name!r}; {hint} A hub id (owner/name) or a folder works too.")
