"""Read the plan of a pipeline from a folder in diffusers layout. The folder is data: nothing in it is executed."""

from __future__ import annotations

import importlib.util
import itertools
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.config_bounds import MAX_ITEMS, check_name, check_values
from diffprof.pipelines.plans.modular_entries import (
    FetchPart,
    ModularEntry,
    check_inside_folder,
    is_modular_entry,
    known_part,
    modular_entry,
)
from diffprof.record.bounded_json import parse_json
from diffprof.record.folder_files import LARGEST_TEXT_BYTES, check_files

INDEX = "model_index.json"
MODULAR_INDEX = "modular_model_index.json"
MODEL_ENDINGS = ("Model", "Generation", "Encoder", "Autoencoder")
CONFIG_FILES = (
    "config.json", "scheduler_config.json", "guider_config.json", "preprocessor_config.json", "processor_config.json",
    "tokenizer_config.json",
)  # fmt: skip
TEXT_CONFIG_FILES = ("tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
"""Configuration files of tokenizers and processors, which may be next to the configuration of a model."""


def from_folder(folder: Path, name: str, source: str = "folder", fetch: FetchPart | None = None) -> Blueprint:
    """Read the plan from ``model_index.json`` and the component configs.

    Components of a modular pipeline in other repositories are downloaded with `fetch`, if it is given.
    """
    check_files(folder)
    index_file = _index_file(folder)
    index = read_json(index_file)
    pipeline, module = _pipeline_name(index_file, index.get("_class_name"))
    assumptions: list[str] = []
    parts: dict[str, PartPlan] = {}
    settings: dict[str, Any] = {}
    for slot, value in index.items():
        if slot.startswith("_"):
            continue
        entry = modular_entry(slot, value)
        if entry is not None:
            parts |= _modular_part(folder, entry, fetch, assumptions)
        elif _is_class_entry(value):
            library, class_name = value
            if library is not None and class_name is not None:
                parts[slot] = _part(folder, slot, library, class_name)
        elif not is_modular_entry(value):  # such an entry names no class
            settings[slot] = value
    return Blueprint(
        name=name,
        source=source,
        pipeline=pipeline,
        parts=parts,
        pipeline_config=settings,
        own_module=module,
        assumptions=tuple(assumptions),
        blocks=_text(index.get("_blocks_class_name")),
    )


def _is_class_entry(value: Any) -> bool:
    """Whether an entry of the index is a library and a class, either of which may be null."""
    return isinstance(value, list) and len(value) == 2 and all(one is None or isinstance(one, str) for one in value)


def _index_file(folder: Path) -> Path:
    """Return the file that lists the components; refuse a folder without one, and say what to do instead."""
    for name in (INDEX, MODULAR_INDEX):
        if (folder / name).is_file():
            return folder / name
    if (folder / "config.json").is_file():
        owner, slot = _lone_class(read_json(folder / "config.json"))
        raise RequestError(
            f"{folder} holds {owner}, not a pipeline (there is no model_index.json); "
            f"count it alone with --component {slot} and --input NAME=SHAPE for each of its inputs"
        )
    inside = sorted(place.parent.name for place in itertools.islice(folder.glob(f"*/{INDEX}"), MAX_ITEMS))
    hint = f"give {folder / inside[0]}" if inside else "give the folder that DiffusionPipeline.save_pretrained wrote"
    raise RequestError(f"{folder} is not a diffusers pipeline: it has no model_index.json; {hint}")


SLOTS = {"Autoencoder": "vae", "VQ": "vae", "UNet": "unet", "Transformer": "transformer", "Text": "text_encoder"}
"""The usual slot for models whose class name contains a word."""


def _lone_class(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return a description of a lone component, and a slot to count it by."""
    owner = _text(config.get("_class_name")) or next(filter(_text, _architectures(config)), None)
    if owner is None:
        return "a single component", "NAME"
    return f"a single {owner[:100]}", next((slot for word, slot in SLOTS.items() if word in owner), "component")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _modular_part(
    folder: Path, entry: ModularEntry, fetch: FetchPart | None, assumptions: list[str]
) -> dict[str, PartPlan]:
    """Return a component of a modular pipeline: from this folder, else from the catalogue, else downloaded."""
    if (folder / entry.subfolder).is_dir() or entry.repository is None:
        return {entry.slot: _part(folder, entry.slot, entry.library, entry.class_name, folder / entry.subfolder)}
    known = known_part(entry)
    if known is not None:
        assumptions.append(f"{entry.slot} is that of {entry.repository}, as the catalogue has it")
        return {entry.slot: known}
    if fetch is not None:
        place = fetch(entry.repository, entry.remote_folder, entry.revision)
        return {entry.slot: _part(folder, entry.slot, entry.library, entry.class_name, place)}
    if entry.class_name.endswith(MODEL_ENDINGS):
        raise RequestError(
            f"{folder} has no {entry.subfolder}, the configuration of {entry.slot} ({entry.class_name}); "
            f"fetch it from {entry.repository} (weights are not needed)"
        )
    return {entry.slot: _part(folder, entry.slot, entry.library, entry.class_name, folder / entry.subfolder)}


def from_component_folder(folder: Path, slot: str, name: str) -> Blueprint:
    """Return the plan of one component, from the folder with its ``config.json`` or a subfolder with its name."""
    check_files(folder)
    place = next((place for place in (folder, folder / slot) if (place / "config.json").is_file()), None)
    if place is None:
        raise RequestError(f"{folder} has neither model_index.json nor a config.json; give the folder of a component")
    config = read_json(place / "config.json")
    class_name = config.get("_class_name")
    library = "diffusers" if isinstance(class_name, str) else "transformers"
    if library == "transformers" and _architectures(config):
        class_name = _architectures(config)[0]
    if not isinstance(class_name, str):
        raise RequestError(f"{place / 'config.json'} names no class (_class_name or architectures); add it")
    part = PartPlan(slot=slot, library=library, class_name=class_name, config=config)
    return Blueprint(name=name, source="folder", pipeline="", parts={slot: part})


def _pipeline_name(index_file: Path, value: Any) -> tuple[str, str | None]:
    """Return the class of the pipeline, and the repository's module that should define it."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return value[1], value[0]
    raise RequestError(f"{index_file} does not name the class of its pipeline (_class_name: {value!r}); correct it")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from an untrusted file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RequestError(f"{path} is not a file; correct or replace it")
        if status.st_size > LARGEST_TEXT_BYTES:
            raise RequestError(f"{path} is too large for a configuration file; check that it is the right file")
        value = parse_json(path.read_text(encoding="utf-8"), MAX_ITEMS)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path} is not valid JSON ({error}); correct or replace the file") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from None
    if not isinstance(value, dict):
        raise RequestError(f"{path} does not hold a JSON object; correct or replace the file")
    check_values(value, path)
    return value


def _part(folder: Path, slot: str, library: str, class_name: str, place: Path | None = None) -> PartPlan:
    """Return the plan of a component; `place` is the folder of its files, if it is not that of its name."""
    for name in (slot, library, class_name):
        check_name(name, folder / INDEX)
    check_inside_folder(slot)
    place = place or folder / slot
    config = _config(place, class_name)
    if config is None and not place.is_dir():
        # As in diffusers: the first models have the files of all components next to the index.
        beside = _config(folder, class_name)
        if beside is not None and class_name in (beside.get("_class_name"), *_architectures(beside)):
            place, config = folder, beside
    return PartPlan(
        slot=slot,
        library=library,
        class_name=class_name,
        config=config or {},
        folder=place,
        is_missing=config is None,
    )


def _architectures(config: Mapping[str, Any]) -> list[Any]:
    listed = config.get("architectures")
    return listed if isinstance(listed, list) else []


def _config(place: Path, class_name: str) -> dict[str, Any] | None:
    is_text = class_name.endswith(("Tokenizer", "TokenizerFast", "Processor"))
    first = TEXT_CONFIG_FILES if is_text else ("scheduler_config.json",) if class_name.endswith("Scheduler") else ()
    for name in (*first, *CONFIG_FILES):
        if (place / name).is_file():
            return read_json(place / name)
    return None


def is_pipeline_package(library: str) -> bool:
    """Whether it is a pipeline package, which folders name as the library of a model that only this pipeline has."""
    return bool(re.fullmatch(r"[a-z0-9_]{1,100}", library)) and any(
        folder.is_dir() for folder in pipeline_packages(library)
    )


def pipeline_packages(library: str) -> Iterator[Path]:
    """Yield the folders of a pipeline package in diffusers, without importing diffusers."""
    found = importlib.util.find_spec("diffusers")
    for top in (found.submodule_search_locations or ()) if found else ():
        yield from (Path(top) / "pipelines" / library, Path(top) / "pipelines" / "deprecated" / library)
