"""Reads the plan of a pipeline from a folder in diffusers layout. The folder is data: nothing in it is run."""

from __future__ import annotations

import importlib.util
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.blueprint import Blueprint, PartPlan
from diffprof.pipelines.config_bounds import MOST_ITEMS, check_name, check_values
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
"""Those of tokenizers and processors, which may lie beside the configuration of a model."""


def from_folder(folder: Path, name: str, source: str = "folder") -> Blueprint:
    """The plan that ``model_index.json`` and the component configs describe."""
    check_files(folder)
    index_file = folder / INDEX if (folder / INDEX).is_file() else folder / MODULAR_INDEX
    if not index_file.is_file() and (folder / "config.json").is_file():
        raise RequestError(
            f"{folder} holds a single component, not a pipeline (there is no model_index.json); "
            "count the component alone with --component NAME and --input NAME=SHAPE"
        )
    if not index_file.is_file():
        raise RequestError(
            f"{folder} is not a diffusers pipeline: it has no model_index.json; "
            "give the folder that DiffusionPipeline.save_pretrained wrote"
        )
    index = read_json(index_file)
    pipeline, module = _pipeline_name(index_file, index.get("_class_name"))
    parts: dict[str, PartPlan] = {}
    settings: dict[str, Any] = {}
    for slot, value in index.items():
        if slot.startswith("_"):
            continue
        if is_modular_entry(value):
            part = _modular_part(folder, slot, value)
            if part is not None:
                parts[slot] = part
        elif isinstance(value, list) and len(value) == 2 and all(v is None or isinstance(v, str) for v in value):
            if value[0] is not None and value[1] is not None:
                parts[slot] = _part(folder, slot, value[0], value[1])
        else:
            settings[slot] = value
    return Blueprint(
        name=name,
        source=source,
        pipeline=pipeline,
        parts=parts,
        pipeline_config=settings,
        own_module=module,
        blocks=_text(index.get("_blocks_class_name")),
    )


def is_modular_entry(value: Any) -> bool:
    """Whether it names a component as the index of a modular pipeline does: library, class, and where it lies."""
    return isinstance(value, list) and len(value) == 3 and isinstance(value[2], dict)


def _modular_part(folder: Path, slot: str, value: list[Any]) -> PartPlan | None:
    """A component of a modular pipeline; None where it names no class."""
    place = value[2]
    hint = place.get("type_hint")
    library, class_name = value[:2] if value[0] and value[1] else hint if isinstance(hint, list) else (None, None)
    if not isinstance(library, str) or not isinstance(class_name, str):
        return None
    subfolder = _text(place.get("subfolder")) or slot
    if not (folder / subfolder).is_dir() and class_name.endswith(MODEL_ENDINGS):
        raise RequestError(
            f"{folder} has no {subfolder}, the configuration of {slot} ({class_name}); "
            f"fetch it from {place.get('pretrained_model_name_or_path') or place.get('repo')} (weights are not needed)"
        )
    return replace(_part(folder, subfolder, library, class_name), slot=slot)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def from_component_folder(folder: Path, slot: str, name: str) -> Blueprint:
    """The plan of one component, from the folder that holds its ``config.json`` or one of that name."""
    check_files(folder)
    place = next((place for place in (folder, folder / slot) if (place / "config.json").is_file()), None)
    if place is None:
        raise RequestError(f"{folder} has neither model_index.json nor a config.json; give the folder of a component")
    config = read_json(place / "config.json")
    class_name = config.get("_class_name")
    library = "diffusers" if isinstance(class_name, str) else "transformers"
    listed = config.get("architectures")
    if library == "transformers" and isinstance(listed, list) and listed:
        class_name = listed[0]
    if not isinstance(class_name, str):
        raise RequestError(f"{place / 'config.json'} names no class (_class_name or architectures); add it")
    part = PartPlan(slot=slot, library=library, class_name=class_name, config=config)
    return Blueprint(name=name, source="folder", pipeline="", parts={slot: part})


def _pipeline_name(index_file: Path, value: Any) -> tuple[str, str | None]:
    """The class of the pipeline, and the module of the repository that is said to have it."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return value[1], value[0]
    raise RequestError(f"{index_file} does not name the class of its pipeline (_class_name: {value!r}); correct it")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file that may be anything."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RequestError(f"{path} is not a file; correct or replace it")
        if status.st_size > LARGEST_TEXT_BYTES:
            raise RequestError(f"{path} is too large for a configuration file; check that it is the right file")
        value = parse_json(path.read_text(encoding="utf-8"), MOST_ITEMS)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path} is not valid JSON ({error}); correct or replace the file") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from None
    if not isinstance(value, dict):
        raise RequestError(f"{path} does not hold a JSON object; correct or replace the file")
    check_values(value, path)
    return value


def _part(folder: Path, slot: str, library: str, class_name: str) -> PartPlan:
    for name in (slot, library, class_name):
        check_name(name, folder / INDEX)
    if Path(slot).name != slot or slot in ("", ".", ".."):
        raise UnsafeModelError(f"model_index.json names a component outside of its folder: {slot!r}")
    config = _config(folder / slot, class_name)
    return PartPlan(
        slot=slot,
        library=library,
        class_name=class_name,
        config=config or {},
        folder=folder / slot,
        is_missing=config is None,
    )


def _config(place: Path, class_name: str) -> dict[str, Any] | None:
    is_text = class_name.endswith(("Tokenizer", "TokenizerFast", "Processor"))
    for name in (*(TEXT_CONFIG_FILES if is_text else ()), *CONFIG_FILES):
        if (place / name).is_file():
            return read_json(place / name)
    return None


def is_pipeline_package(library: str) -> bool:
    """Folders name the package of a pipeline as the library of a model that only this pipeline has."""
    return bool(re.fullmatch(r"[a-z0-9_]{1,100}", library)) and any(
        folder.is_dir() for folder in pipeline_packages(library)
    )


def pipeline_packages(library: str) -> Iterator[Path]:
    """Where diffusers keeps the package of a pipeline; found without importing diffusers."""
    found = importlib.util.find_spec("diffusers")
    for top in (found.submodule_search_locations or ()) if found else ():
        yield from (Path(top) / "pipelines" / library, Path(top) / "pipelines" / "deprecated" / library)
