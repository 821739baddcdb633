"""Reads the plan of a pipeline from a folder in diffusers layout. The folder is data: nothing in it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.measure.opening.blueprint import Blueprint, PartPlan

CONFIG_FILES = ("config.json", "scheduler_config.json", "preprocessor_config.json", "tokenizer_config.json")
LARGEST_CONFIG_BYTES = 64 * 1024 * 1024


def from_folder(folder: Path, name: str, source: str = "folder") -> Blueprint:
    """The plan that ``model_index.json`` and the component configs describe."""
    index_file = folder / "model_index.json"
    if not index_file.is_file():
        raise RequestError(
            f"{folder} is not a diffusers pipeline: it has no model_index.json; "
            "give the folder that DiffusionPipeline.save_pretrained wrote"
        )
    index = read_json(index_file)
    pipeline = index.get("_class_name")
    if not isinstance(pipeline, str):
        raise UnsafeModelError(
            f"{index_file} asks for pipeline code of its own ({pipeline!r}); "
            "diffprof only builds pipeline classes of diffusers and runs nothing from a model folder"
        )
    parts: dict[str, PartPlan] = {}
    settings: dict[str, Any] = {}
    for slot, value in index.items():
        if slot.startswith("_"):
            continue
        if isinstance(value, list) and len(value) == 2 and all(v is None or isinstance(v, str) for v in value):
            if value[0] is not None and value[1] is not None:
                part = _part(folder, slot, value[0], value[1])
                if part is not None:
                    parts[slot] = part
        else:
            settings[slot] = value
    return Blueprint(name=name, source=source, pipeline=pipeline, parts=parts, pipeline_config=settings)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file that may be anything."""
    try:
        if path.stat().st_size > LARGEST_CONFIG_BYTES:
            raise RequestError(f"{path} is too large for a configuration file; check that it is the right file")
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path} is not valid JSON ({error}); correct or replace the file") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from None
    if not isinstance(value, dict):
        raise RequestError(f"{path} does not hold a JSON object; correct or replace the file")
    return value


def _part(folder: Path, slot: str, library: str, class_name: str) -> PartPlan | None:
    if Path(slot).name != slot:
        raise UnsafeModelError(f"model_index.json names a component outside of its folder: {slot!r}")
    place = folder / slot
    tokenizer = "Tokenizer" in class_name
    processor = class_name.endswith(("Processor", "FeatureExtractor"))
    config = _config(place)
    if config is None:
        if slot == "safety_checker":
            return None
        if not (tokenizer or processor):
            missing = "scheduler_config.json" if class_name.endswith("Scheduler") else "config.json"
            raise RequestError(
                f"{place} has no config file, but model_index.json lists {slot} ({class_name}); "
                f"add its {missing} (weights are not needed)"
            )
        config = {}
    _refuse_foreign_code(place, config)
    return PartPlan(
        slot=slot, library=library, class_name=class_name, config=config, folder=place if tokenizer else None
    )


def _config(place: Path) -> dict[str, Any] | None:
    for name in CONFIG_FILES:
        if (place / name).is_file():
            return read_json(place / name)
    return None


def _refuse_foreign_code(place: Path, config: dict[str, Any]) -> None:
    if config.get("auto_map") or config.get("trust_remote_code"):
        raise UnsafeModelError(
            f"{place} asks for code from its repository (auto_map / trust_remote_code); "
            "diffprof only builds classes of diffusers and transformers and runs nothing from a model folder"
        )
