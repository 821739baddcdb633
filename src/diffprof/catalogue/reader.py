"""Find and read entries of the catalogue: the user's own first, then those that come with diffprof."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    """All entries of the catalogue: the user's own, then diffprof's, each sorted by name."""
    own = _files(settings.CATALOGUE_DIR)
    others = [path for path in _files(FOLDER).values() if path.stem not in own]
    return tuple(_entry(path) for path in (*own.values(), *others))


@dataclass(frozen=True)
class Head:
    """What the head of a file says about a model: enough to choose which ones to read."""

    path: Path
    family: str
    task: str
    year: int

    def entry(self) -> Entry:
        """All that the file says."""
        return _entry(self.path)


def heads() -> Iterator[Head]:
    """The same models, without reading what they consist of."""
    own = _files(settings.CATALOGUE_DIR)
    for path in own.values():
        entry = _entry(path)
        yield Head(path, entry.family, entry.task, entry.year or 0)
    # Those that come with diffprof are written plainly, a key in a line.
    for path in (path for path in _files(FOLDER).values() if path.stem not in own):
        text = _text(path).partition("\n[")[0]
        values = dict(re.findall(r'^(family|task|year) = "?(.+?)"?$', text, re.MULTILINE))
        yield Head(path, values.get("family", ""), values.get("task", ""), int(values.get("year", 0)))


def find(name: str) -> Entry | None:
    """Find a model by its short name, alias or hub id, ignoring case; None if the catalogue does not have it."""
    path = _path(name)
    return _entry(path) if path else None


def nearest(name: str, count: int = 3) -> tuple[str, ...]:
    """Short names of the models whose names are most similar to `name`, the best first."""
    import difflib

    lowered = name.lower()
    index = {SHAPES: Path(SHAPES), **_index(FOLDER), **_index(settings.CATALOGUE_DIR)}
    found = [index[key].stem for key in difflib.get_close_matches(lowered, index, n=4 * count, cutoff=0.6)]
    if len(lowered) >= 3:
        found += [path.stem for key, path in index.items() if lowered in key]
    return tuple(dict.fromkeys(found))[:count]


def unknown_model_message(name: str) -> str:
    """The error message for an unknown model, with the most similar names."""
    near = nearest(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "`diffprof models` lists the known ones."
    return f"Unknown model {name!r}; {hint}"


def content(name: str) -> bytes | None:
    """The bytes of the model's file and of the files it refers to, which determine its entry."""
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
    """Cached, because diffprof's own files do not change."""
    return _path_in(folder, lowered)


def _path_in(folder: Path, lowered: str) -> Path | None:
    direct = folder / f"{lowered}.toml"
    # The usual case: the name is that of a file, and no other file has to be read. A hub id has a slash.
    if "/" not in lowered and "\\" not in lowered and os.path.isfile(direct):  # noqa: PTH113  takes any name
        return direct
    index = _index(folder)
    return index.get(lowered) or (_plain_index(folder).get(_normalize_name(lowered)) if index else None)


def _files(folder: Path) -> dict[str, Path]:
    """The files of a folder by name, sorted."""
    try:
        found = [folder / name for name in os.listdir(folder) if name.endswith(".toml") and name[0] != "."]  # noqa: PTH208
    except OSError:
        return {}
    # Sorted without the ending, with which "sd-2.1-base" would come before "sd-2.1".
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def _index(folder: Path) -> Mapping[str, Path]:
    """The file of each name, in lower case."""
    if folder == FOLDER:
        return _shipped_index(folder)
    return {name.lower(): path for path in _files(folder).values() for name in _names(path)}


def _plain_index(folder: Path) -> Mapping[str, Path]:
    """The file of each name without punctuation, as people type it: ``wan22-t2v-a14b``."""
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
    """The names in a file; only its first lines, which have them, are parsed."""
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
    """Cached by the time of the last change, because users may edit entries while the page runs."""
    return read_entry(_parse(_text(path), path), path.stem, _find_part)


@cache
def _find_part(reference: str) -> Part | None:
    """Find the part ``model.slot`` in an entry that comes with diffprof."""
    name, _, slot = reference.rpartition(".")
    path = FOLDER / f"{name}.toml"
    values = _shipped_parts(path).get(slot) if path.is_file() else None
    return read_part(slot, values, name) if values is not None and "same_as" not in values else None


@cache
def _shipped_parts(path: Path) -> Mapping[str, Any]:
    """The parts of an entry that comes with diffprof, to which several others refer."""
    parts: Mapping[str, Any] = _parse(_text(path), path).get("components", {})
    return parts


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
