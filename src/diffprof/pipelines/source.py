"""The plan of a model that is given by name: from the catalogue, from a folder, or from the hub."""

from __future__ import annotations

from pathlib import Path

from diffprof.catalogue import find
from diffprof.catalogue.names import Place, folder_of, place_of
from diffprof.pipelines.blueprint import Blueprint, from_entry
from diffprof.pipelines.folder import from_folder


def blueprint_of(model: str | Path) -> Blueprint:
    """The plan of the model, wherever its configuration is."""
    place, name = place_of(model), str(model)
    if place is Place.folder:
        return from_folder(folder_of(model), name)
    if place is Place.hub:
        from diffprof.pipelines.hub import fetch_configuration

        return from_folder(fetch_configuration(name), name, source="hub")
    entry = find(name)
    assert entry is not None, "the place was found by looking for the entry"
    return from_entry(entry)
