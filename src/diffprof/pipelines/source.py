"""The plan of a model that is given by name: from the catalogue, from a folder, or from the hub."""

from __future__ import annotations

from pathlib import Path

from diffprof.catalogue.names import Place, resolve
from diffprof.pipelines.blueprint import Blueprint, from_entry
from diffprof.pipelines.folder import from_folder


def blueprint_of(model: str | Path) -> Blueprint:
    """The plan of the model, wherever its configuration is."""
    resolved = resolve(model)
    if resolved.folder is not None:
        return from_folder(resolved.folder, resolved.name)
    if resolved.place is Place.hub:
        from diffprof.pipelines.hub import fetch_configuration

        return from_folder(fetch_configuration(resolved.name), resolved.name, source="hub")
    assert resolved.entry is not None, "its place was found by looking for the entry"
    return from_entry(resolved.entry)
