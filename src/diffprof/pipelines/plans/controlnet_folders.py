"""A folder with only a ControlNet, which is counted with the model that ControlNets of its shape were made for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffprof.catalogue.names import Place, is_model_folder, resolve
from diffprof.errors import RequestError
from diffprof.pipelines.plans.folder import read_json

BASES: Mapping[tuple[str, str], Mapping[int, str]] = {
    ("ControlNetModel", "encoder_hid_dim"): {4096: "kolors"},
    ("ControlNetModel", "cross_attention_dim"): {768: "sd-1.5", 1024: "sd-2.1-base", 2048: "sdxl"},
    ("ControlNetUnionModel", "cross_attention_dim"): {2048: "sdxl"},
    ("ControlNetXSAdapter", "cross_attention_dim"): {768: "sd-1.5", 1024: "sd-2.1-base", 2048: "sdxl"},
    ("SparseControlNetModel", "cross_attention_dim"): {768: "animatediff-v1-5-2"},
    ("FluxControlNetModel", "joint_attention_dim"): {4096: "flux.1-dev"},
    ("SD3ControlNetModel", "num_attention_heads"): {18: "sd3-medium", 24: "sd3-medium", 38: "sd3.5-large"},
    ("QwenImageControlNetModel", "joint_attention_dim"): {3584: "qwen-image"},
    ("SanaControlNetModel", "num_attention_heads"): {36: "sana-600m-512", 70: "sana-1.6b-1024"},
    ("HunyuanDiT2DControlNetModel", "hidden_size"): {1408: "hunyuan-dit"},
}
"""The catalogue model for each value of the key that distinguishes models, by class of ControlNet.

The first match is used."""


def base_of_controlnet(folder: Path | None) -> tuple[Path, str] | None:
    """Return the folder and the catalogue model to count it with, if it has a ControlNet and no pipeline."""
    if folder is None or is_model_folder(folder) or not (folder / "config.json").is_file():
        return None
    config = read_json(folder / "config.json")
    name = controlnet_class(config)
    if "ControlNet" not in name:
        return None
    for (owner, key), models in BASES.items():
        value = config.get(key)
        if owner == name and isinstance(value, int) and value in models:
            return folder, models[value]
    raise RequestError(
        f"{folder} is a {name}, not a pipeline; count the model it was trained for with --controlnet {folder}"
    )


def folder_of(model: str | Path) -> Path | None:
    """Return the folder of the model's files; those on the hub are downloaded."""
    resolved = resolve(model)
    if resolved.place is not Place.hub:
        return resolved.folder
    from diffprof.pipelines.plans.hub import fetch_configuration

    return fetch_configuration(resolved.name)


def controlnet_class(config: Mapping[str, Any]) -> str:
    """Return the class of a ControlNet; the first union of several was published under the name of an ordinary one."""
    name = str(config.get("_class_name", ""))
    return "ControlNetUnionModel" if name == "ControlNetModel" and "num_control_type" in config else name
