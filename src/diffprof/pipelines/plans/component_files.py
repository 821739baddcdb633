"""Read the weights next to a pipeline's configuration from the headers of their files: on disk, or on the hub."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.headers.header import StoredTensor
from diffprof.pipelines.headers.safetensors import parse_safetensors_tensors, read_safetensors_header
from diffprof.pipelines.headers.stored_weights import StoredWeights, computing_dtype, stored_weights
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.folder import INDEX, read_json

STEMS = {"transformers": "model"}
USUAL_STEM = "diffusion_pytorch_model"
VARIANTS = {"float16": "fp16", "bfloat16": "bf16"}
MAX_SHARDS = 500

ReadTensors = Callable[[str, str], Mapping[str, StoredTensor]]
"""Returns the tensors of a component's file, by slot and file name."""

ReadShards = Callable[[str, str], list[str]]
"""Returns the files that an index of a component lists."""


def with_folder_weights(blueprint: Blueprint, folder: Path, dtype: str | None = None) -> Blueprint:
    """Return the plan with the weights of the files in its folder; components without files are unchanged."""
    places = {slot: plan.folder or folder / slot for slot, plan in blueprint.parts.items()}
    return _with_weights(
        blueprint,
        {slot: _names(place) for slot, place in places.items()},
        lambda slot, file: read_safetensors_header(places[slot] / file).tensors,
        lambda slot, file: _shards(read_json(places[slot] / file), f"{slot}/{file}"),
        dtype,
    )


def with_hub_weights(blueprint: Blueprint, hub_id: str, dtype: str | None = None) -> Blueprint:
    """Return the plan with the weights of files on the hub: a few hundred KB of each are read, never the whole file.

    A component in another repository is unchanged.
    """
    from huggingface_hub import HfApi, hf_hub_download

    from diffprof.pipelines.plans.hub import ANSWER_SECONDS

    api = HfApi()

    folders = {slot: _folder_in_repository(plan) for slot, plan in blueprint.parts.items()}

    def read(slot: str, file: str) -> Mapping[str, StoredTensor]:
        name = f"{folders[slot]}{file}"
        found = api.parse_safetensors_file_metadata(hub_id, name, timeout=ANSWER_SECONDS)
        values = {
            tensor: {"dtype": info.dtype, "shape": list(info.shape), "data_offsets": list(info.data_offsets)}
            for tensor, info in found.tensors.items()
        }
        return parse_safetensors_tensors(values, f"{hub_id}/{name}", None)

    try:
        siblings = getattr(api.model_info(hub_id, timeout=ANSWER_SECONDS), "siblings", None) or ()
        paths = [sibling.rfilename for sibling in siblings]
        names = {
            slot: [path.removeprefix(folder) for path in paths if path.startswith(folder)]
            for slot, folder in folders.items()
        }

        def read_shards(slot: str, file: str) -> list[str]:
            name = f"{folders[slot]}{file}"
            return _shards(read_json(Path(hf_hub_download(hub_id, name))), name)

        return _with_weights(blueprint, names, read, read_shards, dtype)
    except DiffprofError:
        raise
    except Exception as error:  # noqa: BLE001  any error of the HTTP library
        note = f"the headers of the weights on the hub were not read ({type(error).__name__}): dtypes are assumed"
        return replace(blueprint, assumptions=(*blueprint.assumptions, note))


def _folder_in_repository(plan: PartPlan) -> str:
    """Return the folder of a component's files: that of its slot or another one; empty if next to the index."""
    if plan.folder is None:
        return f"{plan.slot}/"
    return "" if (plan.folder / INDEX).is_file() else f"{plan.folder.name}/"


def _with_weights(
    blueprint: Blueprint,
    names: Mapping[str, Collection[str]],
    read: ReadTensors,
    read_shards: ReadShards,
    dtype: str | None,
) -> Blueprint:
    stored: dict[str, StoredWeights] = {}
    notes = []
    for slot, plan in blueprint.parts.items():
        try:
            tensors = _tensors(slot, plan, names[slot], read, read_shards, dtype)
        except RequestError as error:
            # Counting needs no weights, so a truncated file or a pointer does no harm.
            notes.append(f"the weight files of {slot} are not used: {error}")
            continue
        if tensors:
            stored[slot] = stored_weights(tensors)
    if not stored and not notes:
        return blueprint
    main = max(stored.values(), key=lambda weights: weights.elements, default=None)
    computes_in = computing_dtype(main, "bfloat16" if main and blueprint.dtype == "float32" else blueprint.dtype)
    return replace(
        blueprint,
        stored={**blueprint.stored, **stored},
        dtype=computes_in,
        assumptions=(*blueprint.assumptions, *notes),
    )


def _tensors(
    slot: str,
    plan: PartPlan,
    names: Collection[str],
    read: ReadTensors,
    read_shards: ReadShards,
    dtype: str | None,
) -> dict[str, StoredTensor]:
    """Return the tensors of one component from all its files; empty if a file is missing."""
    stem = STEMS.get(plan.library, USUAL_STEM)
    for variant in dict.fromkeys((VARIANTS.get(dtype or ""), None, *VARIANTS.values())):
        middle = f".{variant}" if variant else ""
        whole, index = f"{stem}{middle}.safetensors", f"{stem}.safetensors.index{middle}.json"
        files = [whole] if whole in names else read_shards(slot, index) if index in names else []
        if files and set(files) <= set(names):
            return {name: tensor for file in files for name, tensor in read(slot, file).items()}
    return {}


def _shards(index: Mapping[str, object], name: str) -> list[str]:
    """Return the files that an index lists, without duplicates."""
    listed = index.get("weight_map")
    files = list(dict.fromkeys(listed.values())) if isinstance(listed, dict) else []
    if len(files) > MAX_SHARDS or not all(isinstance(file, str) and Path(file).name == file for file in files):
        raise RequestError(f"{name} lists files outside of its folder, or more than {MAX_SHARDS:,}")
    return files


def _names(place: Path) -> list[str]:
    try:
        return [path.name for path in place.iterdir()]
    except OSError:
        return []
