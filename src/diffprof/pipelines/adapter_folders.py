"""The folder of a T2I-Adapter by itself: it is counted with the Stable Diffusion that it was made for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diffprof.catalogue import find
from diffprof.pipelines.blueprint import Blueprint, PartPlan, from_entry
from diffprof.pipelines.folder import read_json
from diffprof.record.folder_files import check_files

ADAPTER = "T2IAdapter"
USUAL = ("sd-1.5", "StableDiffusionAdapterPipeline")
FOR_XL = ("sdxl", "StableDiffusionXLAdapterPipeline")


def from_adapter_folder(folder: Path, name: str) -> Blueprint | None:
    """The plan of Stable Diffusion with the adapter whose configuration the folder holds; None for anything else."""
    check_files(folder)
    if not (folder / "config.json").is_file():
        return None
    config = read_json(folder / "config.json")
    if config.get("_class_name") != ADAPTER:
        return None
    base, pipeline = FOR_XL if config.get("adapter_type") == "full_adapter_xl" else USUAL
    entry = find(base)
    assert entry is not None, "it is in the catalogue"
    whole = from_entry(entry)
    parts = {**whole.parts, "adapter": PartPlan("adapter", "diffusers", ADAPTER, config, folder=folder)}
    sentence = f"{name} is a {ADAPTER} and no pipeline: it is counted with {base}"
    return replace(
        whole,
        name=name,
        source="folder",
        pipeline=pipeline,
        parts=parts,
        assumptions=(sentence, *whole.assumptions),
    )
