"""Finding and reading the catalogue's files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from diffprof.catalogue.bundled_model import SHAPES
from diffprof.catalogue.checks import read_entry
from diffprof.catalogue.entry import Entry
from diffprof.errors import FileFormatError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "models"


def entries() -> tuple[Entry, ...]:
    """All models of the catalogue, by name."""
    return tuple(_entry(path) for path in _paths())


def find(name: str) -> Entry | None:
    """The model with this short name, alias or hub id, in any case; None when the catalogue does not have it."""
    path = _path(name)
    return _entry(path) if path else None


def nearest(name: str, count: int = 3) -> tuple[str, ...]:
    """Short names of the models whose names look most like `name`, the likeliest first."""
    import difflib

    lowered = name.lower()
    index = {SHAPES: Path(SHAPES), **_index()}
    found = [index[key].stem for key in difflib.get_close_matches(lowered, index, n=4 * count, cutoff=0.6)]
    if len(lowered) >= 3:
        found += [path.stem for key, path in index.items() if lowered in key]
    return tuple(dict.fromkeys(found))[:count]


def unknown_model_message(name: str) -> str:
    """The sentence for a model that nobody knows, with the names that look most like it."""
    near = nearest(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "`diffprof models` lists the known ones."
    return f"Unknown model {name!r}; {hint}"


def content(name: str) -> bytes | None:
    """The bytes of the model's file, from which all that the catalogue says about it follows."""
    path = _path(name)
    return path.read_bytes() if path else None


def _path(name: str) -> Path | None:
    lowered = name.lower()
    direct = FOLDER / f"{lowered}.toml"
    # The usual case needs no other file; a hub id has a slash and is never a file name.
    if "/" not in lowered and "\\" not in lowered and os.path.isfile(direct):  # noqa: PTH113  takes any name
        return direct
    return _index().get(lowered)


def _paths() -> list[Path]:
    # By stem: with the ending, "sd-2.1-base" would come before "sd-2.1".
    return sorted((path for path in FOLDER.glob("*.toml") if path.name[0] != "."), key=lambda path: path.stem)


@cache
def _index() -> dict[str, Path]:
    """Every name in lower case and the file it stands for; only the heads of the files, which hold them, are parsed."""
    return {name.lower(): path for path in _paths() for name in _names(path)}


def _names(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    first_table = re.search(r"^\[", text, re.MULTILINE)
    head = _parse(text[: first_table.start()] if first_table else text, path)
    yield path.stem
    yield from (name for name in (head.get("hub_id"), *head.get("aliases", ())) if isinstance(name, str))


@cache
def _entry(path: Path) -> Entry:
    return read_entry(_parse(path.read_text(encoding="utf-8"), path), path.stem)


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"The catalogue file {path.name} is not valid TOML ({error}).") from error
