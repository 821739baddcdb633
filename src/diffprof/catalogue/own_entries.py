"""The user's own catalogue entries, in a folder that takes precedence over diffprof's."""

from __future__ import annotations

import re
from pathlib import Path

from diffprof import settings
from diffprof.catalogue.bundled_model import is_bundled
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.reader import find
from diffprof.catalogue.writer import entry_toml
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_folder, replace_file

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def suggest_name(source: str | Path) -> str:
    """Make a short name from the last part of a folder, a file or a hub id."""
    last = re.split(r"[/\\]", str(source).rstrip("/\\"))[-1].lower()
    plain = re.sub(r"\.(safetensors|gguf)$", "", last)
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("-._")[:100]


def check_name(name: str, may_replace: bool) -> None:
    """Refuse an invalid name and, unless it may be replaced, the name of an existing model."""
    if not NAME.fullmatch(name) or is_bundled(name):
        raise RequestError(f"{name!r} cannot be the name of a model; use lowercase letters, digits, dots and hyphens.")
    taken = find(name)
    if taken is not None and not may_replace:
        raise RequestError(
            f"{name} is already the name of a model ({taken.title}); choose another with --name, "
            "or override it with --force."
        )


def save_entry(entry: Entry, may_replace: bool = False) -> Path:
    """Write a user's own entry; all commands, the page and Python then know the model by its name."""
    check_name(entry.name, may_replace)
    folder: Path = settings.CATALOGUE_DIR
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return replace_file(folder / f"{entry.name}.toml", entry_toml(entry).encode())
