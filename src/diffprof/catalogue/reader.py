"""Finding and reading the catalogue's files: a user's own entries first, then those that come with diffprof."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from diffprof import settings
from diffprof.catalogue.bundled_model import SHAPES
from diffprof.catalogue.checks import read_entry, read_part
from diffprof.catalogue.entry import Entry, Part
from diffprof.errors import FileFormatError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "models"
"""The entries that come with diffprof."""

LARGEST_ENTRY_BYTES = 4 * 1024 * 1024


def entries() -> tuple[Entry, ...]:
    """All models of the catalogue: the user's own, then the others, each by name."""
    own = _files(settings.CATALOGUE_DIR)
    others = [path for path in _files(FOLDER).values() if path.stem not in own]
    return tuple(_entry(path) for path in (*own.values(), *others))


def find(name: str) -> Entry | None:
    """The model with this short name, alias or hub id, in any case; None when the catalogue does not have it."""
    path = _path(name)
    return _entry(path) if path else None


def nearest(name: str, count: int = 3) -> tuple[str, ...]:
    """Short names of the models whose names look most like `name`, the likeliest first."""
    import difflib

    lowered = name.lower()
    index = {SHAPES: Path(SHAPES), **_index(FOLDER), **_index(settings.CATALOGUE_DIR)}
    found = [index[key].stem for key in difflib.get_close_matches(lowered, index, n=4 * count, cutoff=0.6)]
    if len(lowered) >= 3:
        found += [path.stem for key, path in index.items() if lowered in key]
    return tuple(dict.fromkeys(found))[:count]


def unknown_model_message(name: str) -> str:
    """The sentence for an unknown model, with the names most like it."""
    near = nearest(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "`diffprof models` lists the known ones."
    return f"Unknown model {name!r}; {hint}"


def content(name: str) -> bytes | None:
    """The bytes of the model's file and of those it refers to: all that the catalogue says about it follows."""
    path = _path(name)
    if path is None:
        return None
    texts = {path: _text(path)}
    waiting = [path]
    while waiting:
        for other in _references(texts[waiting.pop()]):
            if other not in texts:
                texts[other] = _text(other)
                waiting.append(other)
    return "\n".join(texts.values()).encode()


def _references(text: str) -> Iterator[Path]:
    for name in re.findall(r'^same_as = "(.+)\.\w+"$', text, re.MULTILINE):
        yield FOLDER / f"{name}.toml"


def _path(name: str) -> Path | None:
    own = settings.CATALOGUE_DIR
    found = _path_in(own, name.lower()) if os.path.isdir(own) else None  # noqa: PTH112  takes any name
    return found or _shipped_path(FOLDER, name.lower())


@lru_cache(maxsize=1024)
def _shipped_path(folder: Path, lowered: str) -> Path | None:
    """Once for each name: these files stay as they are."""
    return _path_in(folder, lowered)


def _path_in(folder: Path, lowered: str) -> Path | None:
    direct = folder / f"{lowered}.toml"
    # The usual case needs no other file; a hub id has a slash and is never a file name.
    if "/" not in lowered and "\\" not in lowered and os.path.isfile(direct):  # noqa: PTH113  takes any name
        return direct
    index = _index(folder)
    return index.get(lowered) or (_plain_index(folder).get(_normalize_name(lowered)) if index else None)


def _files(folder: Path) -> dict[str, Path]:
    """The entries of a folder by name, in their order."""
    try:
        found = [folder / name for name in os.listdir(folder) if name.endswith(".toml") and name[0] != "."]  # noqa: PTH208
    except OSError:
        return {}
    # By stem: with the ending, "sd-2.1-base" would come before "sd-2.1".
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def _index(folder: Path) -> Mapping[str, Path]:
    """Every name in lower case and the file it stands for."""
    if folder == FOLDER:
        return _shipped_index(folder)
    return {name.lower(): path for path in _files(folder).values() for name in _names(path)}


def _plain_index(folder: Path) -> Mapping[str, Path]:
    """The same by names without punctuation, as people type them: ``wan22-t2v-a14b``."""
    if folder == FOLDER:
        return _shipped_plain_index(folder)
    return {_normalize_name(name): path for name, path in _index(folder).items()}


@cache
def _shipped_index(folder: Path) -> Mapping[str, Path]:
    return {name.lower(): path for path in _files(folder).values() for name in _names(path)}


@cache
def _shipped_plain_index(folder: Path) -> Mapping[str, Path]:
    return {_normalize_name(name): path for name, path in _shipped_index(folder).items()}


def _normalize_name(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.lower()) or name


def _names(path: Path) -> Iterator[str]:
    """Only the head of the file, which has the names, is parsed."""
    text = _text(path)
    first_table = re.search(r"^\[", text, re.MULTILINE)
    head = _parse(text[: first_table.start()] if first_table else text, path)
    yield path.stem
    yield from (name for name in (head.get("hub_id"), *head.get("aliases", ())) if isinstance(name, str))


def _entry(path: Path) -> Entry:
    state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1024)
def _read(path: Path, changed_ns: int, size: int) -> Entry:
    """Once for each state of a file: a user may change an entry while the page runs."""
    return read_entry(_parse(_text(path), path), path.stem, _find_part)


@cache
def _find_part(reference: str) -> Part | None:
    """The part that ``model.slot`` means: one that is described in an entry that comes with diffprof."""
    name, _, slot = reference.rpartition(".")
    path = FOLDER / f"{name}.toml"
    values = _parse(_text(path), path).get("components", {}).get(slot) if path.is_file() else None
    return read_part(slot, values, name) if values is not None and "same_as" not in values else None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_ENTRY_BYTES:
            raise FileFormatError(f"The catalogue file {path} is too large; check that it is the right file.")
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise FileFormatError(f"The catalogue file {path} cannot be read ({error}).") from error


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"The catalogue file {path.name} is not valid TOML ({error}).") from error
