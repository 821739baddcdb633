"""Entries of a modular pipeline's index: the class of a component, and its location."""

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
"""Returns the folder with the configuration of a component, given a repository, a folder in it and a revision."""

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}")


@dataclass(frozen=True)
class ModularEntry:
    """A component in the index of a modular pipeline."""

    slot: str
    library: str
    class_name: str
    subfolder: str
    """Its folder in the pipeline's own folder."""
    repository: str | None
    """The repository that has it, which may be another one; None if the index names none."""
    remote_folder: str
    """Its folder in that repository; empty if the repository has only this component."""
    revision: str | None


def is_modular_entry(value: Any) -> bool:
    """Whether it is an entry of a modular index: library, class, and location."""
    return isinstance(value, list) and len(value) == 3 and isinstance(value[2], dict)


def modular_entry(slot: str, value: Any) -> ModularEntry | None:
    """Parse an entry of the index; None for anything else, and if it names no class."""
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
    check_inside_folder(subfolder)
    return ModularEntry(
        slot=slot,
        library=named[0],
        class_name=named[1],
        subfolder=subfolder,
        repository=repository if repository and REPOSITORY.fullmatch(repository) else None,
        remote_folder=_text(remote) or "",
        revision=_text(place.get("revision")) or None,
    )


def check_inside_folder(name: str) -> None:
    """Refuse the name of a component that leads out of its folder."""
    if Path(name).name != name or name in ("", ".", ".."):
        raise UnsafeModelError(f"model_index.json names a component outside of its folder: {name!r}")


def known_part(entry: ModularEntry) -> PartPlan | None:
    """Return the component of a repository from the catalogue; None if it is missing or has another class there."""
    model = find(entry.repository) if entry.repository is not None else None
    if model is None or entry.repository not in model.names:
        return None
    part = from_entry(model).parts.get(entry.remote_folder or entry.slot)
    if part is None or (part.class_name != entry.class_name and not PREPROCESSOR_CLASS.search(entry.class_name)):
        return None
    return replace(part, slot=entry.slot)


PREPROCESSOR_CLASS = re.compile(r"(Tokenizer(Fast)?|Processor(Fast)?|Extractor)$")
"""Classes with several names: fast, slow and Auto classes."""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
