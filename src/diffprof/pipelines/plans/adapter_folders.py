"""A folder with only a T2I-Adapter or a motion adapter, which is counted with a matching Stable Diffusion model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from diffprof.catalogue import find
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan, from_entry
from diffprof.pipelines.plans.folder import read_json
from diffprof.record.folder_files import check_files

SLOTS = {"T2IAdapter": "adapter", "MotionAdapter": "motion_adapter"}
"""The pipeline slot for each class that is published separately."""


def from_adapter_folder(folder: Path, name: str) -> Blueprint | None:
    """Return the plan of Stable Diffusion with the adapter in the folder; None for anything else."""
    check_files(folder)
    if not (folder / "config.json").is_file():
        return None
    config = read_json(folder / "config.json")
    owner = config.get("_class_name")
    if not isinstance(owner, str) or owner not in SLOTS:
        return None
    base, pipeline = _motion_pipeline(config) if owner == "MotionAdapter" else _image_pipeline(config)
    entry = find(base)
    assert entry is not None, "it is in the catalogue"
    whole = from_entry(entry)
    parts = {**whole.parts, SLOTS[owner]: PartPlan(SLOTS[owner], "diffusers", owner, config, folder=folder)}
    sentence = f"{name} is a {owner} and no pipeline: it is counted with {base}"
    # AnimateDiffSDXLPipeline upcasts part of the VAE in a way that the current VAE cannot compute with.
    dtype = "bfloat16" if pipeline == "AnimateDiffSDXLPipeline" else whole.dtype
    return replace(
        whole,
        name=name,
        source="folder",
        pipeline=pipeline,
        parts=parts,
        dtype=dtype,
        assumptions=(sentence, *whole.assumptions),
    )


def _image_pipeline(config: Mapping[str, Any]) -> tuple[str, str]:
    is_for_xl = config.get("adapter_type") == "full_adapter_xl"
    return ("sdxl", "StableDiffusionXLAdapterPipeline") if is_for_xl else ("sd-1.5", "StableDiffusionAdapterPipeline")


def _motion_pipeline(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the pipeline: the UNet of XL has three levels; an adapter with its own input layer also gets an image."""
    if config.get("conv_in_channels"):
        return "sd-1.5", "PIAPipeline"
    levels = config.get("block_out_channels")
    is_for_xl = isinstance(levels, list) and len(levels) == 3
    return ("sdxl", "AnimateDiffSDXLPipeline") if is_for_xl else ("sd-1.5", "AnimateDiffPipeline")
