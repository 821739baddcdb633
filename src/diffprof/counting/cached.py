"""A profile from the cache when it was counted before, else from the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof import catalogue
from diffprof.catalogue.names import Place, folder_of, place_of
from diffprof.counting.formulas.registry import registered_operations
from diffprof.record import cache
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress

ProgressLine = Callable[[], AbstractContextManager[Progress | None]]
"""Shows progress while it is open; opened only when there is something to count."""


@dataclass(frozen=True)
class Asked:
    """What the command line was asked to count."""

    model: str
    dtype: str | None
    scheduler: str | None
    enable: tuple[str, ...]
    arguments: Mapping[str, Any]


def counted(asked: Asked, use_cache: bool, progress: ProgressLine) -> Profile:
    """The profile that was asked for; torch is imported only when it has to be counted."""
    place = place_of(asked.model)
    use_cache = use_cache and not registered_operations()  # their formulas are known to this process only
    entry = _key(asked, place) if use_cache else None
    kept = cache.read(entry) if entry else None
    if kept is not None:
        return kept
    profile = _count(asked, progress)
    if use_cache:
        # Opening a hub id may have fetched files: what was counted is what is there now.
        entry = _key(asked, place) if place is Place.hub else entry
        if entry:
            cache.write(entry, profile)
    return profile


def _count(asked: Asked, progress: ProgressLine) -> Profile:
    with progress() as report:
        from diffprof.counting.profile import profile

        return profile(
            asked.model,
            dtype=asked.dtype,
            scheduler=asked.scheduler,
            enable=asked.enable,
            progress=report,
            **asked.arguments,
        )


def _key(asked: Asked, place: Place) -> str | None:
    content = _content(asked.model, place)
    if content is None:
        return None
    request = {
        "dtype": asked.dtype,
        "scheduler": asked.scheduler,
        "enable": list(asked.enable),
        "arguments": dict(asked.arguments),
    }
    return cache.key(_resolved(asked.model, place), content, request)


def _resolved(model: str, place: Place) -> str:
    """One name for all that a model of the catalogue answers to."""
    entry = catalogue.find(model) if place is Place.catalogue else None
    return entry.name if entry else model


def _content(model: str, place: Place) -> bytes | None:
    """What the profile depends on in the model's configuration; None when it is not on this machine."""
    if place is Place.catalogue:
        return catalogue.content(model)
    folder = folder_of(model) if place is Place.folder else _hub_snapshot(model)
    try:
        return cache.digest_of_folder(folder) if folder is not None and folder.is_dir() else None
    except OSError:
        # A file that cannot be read is for the engine to complain about.
        return None


def _hub_snapshot(hub_id: str) -> Path | None:
    """The folder where huggingface_hub keeps the files of a repository; found by its layout, without importing it."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    repository = hub / f"models--{hub_id.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None
