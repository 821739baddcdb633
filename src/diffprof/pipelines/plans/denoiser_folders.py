"""A folder with only a denoiser, which is counted with the other components of a catalogue model with a similar one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diffprof.catalogue import Entry, entries
from diffprof.pipelines.plans.assumed_parts import CHANNELS, DENOISERS, MIN_SIMILARITY, input_demands, similarity_of
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan, from_entry
from diffprof.pipelines.plans.classes import REPOSITORY_CLASS_NAMES
from diffprof.pipelines.plans.folder import read_json
from diffprof.record.folder_files import check_files


def from_denoiser_folder(folder: Path, name: str) -> Blueprint | None:
    """Return the plan of a known model with the denoiser in the folder; None if no model has a similar one."""
    check_files(folder)
    places = [folder, *(folder / slot for slot in DENOISERS)]
    place = next((place for place in places if (place / "config.json").is_file()), None)
    if place is None:
        return None
    config = read_json(place / "config.json")
    named = str(config.get("_class_name"))
    class_name = REPOSITORY_CLASS_NAMES.get(named, named)
    found: list[tuple[float, Entry, PartPlan]] = []
    for entry in entries():
        for slot in (*DENOISERS, MOTION):
            part = entry.components.get(slot)
            if part is not None and part.class_name == class_name:
                plan = PartPlan(slot, part.library, part.class_name, config, folder=place)
                if all(input_demands(plan, keys) == input_demands(part, keys) for keys in (None, CHANNELS)):
                    found.append((similarity_of({slot: plan}, {slot: part}), entry, plan))
    if not found:
        return None
    # Of models with the same denoiser, the one with the fewest other networks, such as ControlNets.
    degree, entry, plan = max(found, key=lambda candidate: (candidate[0], -_networks(candidate[1])))
    if degree < MIN_SIMILARITY:
        return None
    whole = from_entry(entry)
    sentence = f"{name} is a {class_name} and no pipeline: it is counted with the other components of {entry.name}"
    parts = {**whole.parts, plan.slot: plan}
    return replace(whole, name=name, source="folder", parts=parts, assumptions=(sentence, *whole.assumptions))


def _networks(entry: Entry) -> int:
    parts = [part for slot, part in entry.components.items() if slot != "safety_checker"]
    return sum(part.library == "diffusers" and part.parameters is not None for part in parts)


MOTION = "motion_adapter"
"""Motion adapters are published separately, for any Stable Diffusion."""
