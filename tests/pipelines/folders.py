"""Small pipelines as folders in diffusers layout: configuration and tokenizer files, no weights."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.small_pipelines import SMALL_PIPELINES


def saved(name: str, folder: Path) -> Path:
    """A folder with the configuration of a small pipeline, as its `save_pretrained` would write it.

    A copy of one that is made once in a process.
    """
    return copy_of_folder(_saved(name), folder)


def copy_of_folder(made: TemporaryDirectory[str], folder: Path) -> Path:
    return Path(shutil.copytree(made.name, folder, dirs_exist_ok=True))


@functools.cache
def _saved(name: str) -> TemporaryDirectory[str]:
    made = TemporaryDirectory()
    folder = Path(made.name)
    pipeline = SMALL_PIPELINES[name].build()
    pipeline.save_config(folder)
    for slot, part in pipeline.components.items():
        if part is None:
            continue
        place = folder / slot
        if hasattr(part, "save_config"):
            part.save_config(place)
        elif hasattr(part, "config"):
            part.config.architectures = [type(part).__name__]
            part.config.save_pretrained(place)
        elif hasattr(part, "save_pretrained"):
            part.save_pretrained(place)
    return made


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a JSON file in place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def without_tokenizer_files(folder: Path, keep: tuple[str, ...] = ()) -> Path:
    for place in folder.glob("tokenizer*"):
        for path in place.iterdir():
            if path.name not in keep:
                path.unlink()
    return folder
