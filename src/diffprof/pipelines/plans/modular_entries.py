"""Entries of a modular pipeline's index: which class a component has, and where it lies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diffprof.catalogue import find
from diffprof.errors import UnsafeModelError
from diffprof.pipelines.plans.blueprint import PartPlan, from_entry

FetchPart = Callable[[str, str, str | None], Path]
"""Gives the folder with the configuration of a component: of a repository, a folder in it and a revision."""

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}")


@dataclass(frozen=True)
class ModularEntry:
    """A component as the index of a modular pipeline names it."""

    slot: str
    library: str
    class_name: str
    subfolder: str
    """Where it lies in the pipeline's own folder."""
    repository: str | None
    """The repository that holds it, which may be another one; None where the index names none."""
    remote_folder: str
    """Where it lies in that repository; empty where it is all that the repository holds."""
    revision: str | None


def is_modular_entry(value: Any) -> bool:
    """Whether it names a component as the index of a modular pipeline does: library, class, and where it lies."""
    return isinstance(value, list) and len(value) == 3 and isinstance(value[2], dict)


def modular_entry(slot: str, value: Any) -> ModularEntry | None:
    """What an entry of the index says; None for anything else, and where it names no class."""
    if not is_modular_entry(value):
        return None
    place = value[2]
    hint = place.get("type_hint")
    named = value[:2] if value[0] and value[1] else hint
    if not (isinstance(named, list) and len(named) == 2 and all(isinstance(name, str) for name in named)):
        return None
    remote, repository = (
        place.get("subfolder"),
        _text(place.get("pretrained_model_name_or_path")) or _text(place.get("repo")),
    )
    subfolder = _text(remote) or slot
    check_is_inside(subfolder)
    return ModularEntry(
        slot=slot,
        library=named[0],
        class_name=named[1],
        subfolder=subfolder,
        repository=repository if repository and REPOSITORY.fullmatch(repository) else None,
        remote_folder=_text(remote) or "",
        revision=_text(place.get("revision")) or None,
    )


def check_is_inside(name: str) -> None:
    """Refuse the name of a component that leads out of its folder."""
    if Path(name).name != name or name in ("", ".", ".."):
        raise UnsafeModelError(f"model_index.json names a component outside of its folder: {name!r}")


def known_part(entry: ModularEntry) -> PartPlan | None:
    """The component of a repository that the catalogue has; None where it has another class there, or none."""
    model = find(entry.repository) if entry.repository is not None else None
    if model is None or entry.repository not in model.names:
        return None
    part = from_entry(model).parts.get(entry.remote_folder or entry.slot)
    if part is None or (part.class_name != entry.class_name and not OF_TEXTS_AND_IMAGES.search(entry.class_name)):
        return None
    return replace(part, slot=entry.slot)


OF_TEXTS_AND_IMAGES = re.compile(r"(Tokenizer(Fast)?|Processor(Fast)?|Extractor)$")
"""Classes that go by several names, for the fast one, the slow one and the one that finds out."""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
