"""The small model that comes with diffprof, including its weights (docs/shapes-model.md)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from diffprof.catalogue.entry import Entry, Part

SHAPES = "shapes"
"""The name of the bundled model."""

RECOMMENDED = {"num_inference_steps": 20, "guidance_scale": 4.0}
"""Recommended call arguments: more steps do not improve its images, more guidance makes edges uneven."""

DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


def shapes_folder() -> Path:
    """The folder of the bundled model, in diffusers layout."""
    return Path(__file__).parents[1] / "shapes_model"


def is_bundled(model: str | Path) -> bool:
    """Whether the name, in any case, means the bundled model; a path never does, not even ``Path("shapes")``."""
    return isinstance(model, str) and model.lower() == SHAPES


def shapes_entry() -> Entry:
    """A catalogue entry for the bundled model, read from its files."""
    index = _read(shapes_folder() / "model_index.json")
    parts = {
        slot: _part(slot, *value) for slot, value in index.items() if isinstance(value, list) and value != [None, None]
    }
    return Entry(
        name=SHAPES,
        title="Coloured shapes, bundled with weights",
        media="image",
        hub_id=None,
        pipeline=index["_class_name"],
        dtype=_dtype(parts),
        source="training/shapes, which trained it; docs/shapes-model.md says what it can do",
        family=SHAPES,
        task="text-to-image",
        licence="apache-2.0",
        facts_source="this package",
        year=2026,
        recommended=RECOMMENDED,
        recommended_source="docs/shapes-model.md",
        components=parts,
    )


def _part(slot: str, library: str, class_name: str) -> Part:
    folder = shapes_folder() / slot
    files = [folder / name for name in ("config.json", "scheduler_config.json") if (folder / name).is_file()]
    values = _read(files[0]) if files else {}
    weights = [tensor for file in folder.glob("*.safetensors") for tensor in _tensors(file)]
    return Part(
        slot=slot,
        class_name=class_name,
        library=library,
        config={key: value for key, value in values.items() if not key.startswith("_")},
        parameters=sum(math.prod(tensor["shape"]) for tensor in weights) if weights else None,
    )


def _dtype(parts: dict[str, Part]) -> str:
    files = [file for slot in parts for file in (shapes_folder() / slot).glob("*.safetensors")]
    found = dict.fromkeys(DTYPES[tensor["dtype"]] for file in files for tensor in _tensors(file))
    return " and ".join(found)


def _tensors(file: Path) -> list[dict[str, Any]]:
    """Shapes and dtypes of the weights, from the header of the file."""
    with file.open("rb") as opened:
        head = json.loads(opened.read(int.from_bytes(opened.read(8), "little")))
    return [tensor for name, tensor in head.items() if name != "__metadata__"]


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
