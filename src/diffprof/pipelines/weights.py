"""A pipeline that can run: with its real weights, from a folder or the hub, or with random ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from diffprof.catalogue import find
from diffprof.catalogue.names import Place, folder_of, place_of
from diffprof.errors import RequestError
from diffprof.pipelines.blueprint import Blueprint, PartPlan
from diffprof.pipelines.building import MakeModel, build
from diffprof.pipelines.classes import part_class
from diffprof.pipelines.components import components_of, element_count, weight_bytes
from diffprof.pipelines.folder import from_folder
from diffprof.pipelines.free_memory import check_memory
from diffprof.pipelines.hub import fetch_configuration
from diffprof.pipelines.hub_weights import fetch_weights
from diffprof.pipelines.loading import load_model
from diffprof.pipelines.opening import OpenedPipeline, chosen_dtype
from diffprof.pipelines.placement import Target, place_pipeline, target_of
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.pipelines.random_weights import random_model
from diffprof.pipelines.source import blueprint_of
from diffprof.pipelines.step_caches import enable_cache, parse_cache
from diffprof.pipelines.switches import apply_switches
from diffprof.pipelines.tokenizers import VOCABULARY_FILES, has_vocabulary
from diffprof.pipelines.weight_files import OTHERWISE, WeightFiles, weight_files
from diffprof.record.progress import Activity, Progress, ProgressEvent

RANDOM = "the weights are random: the work is that of the model, what comes out of it is noise"


Rehearse = Callable[[Any, Mapping[str, Any], Mapping[str, Any], str | None, Sequence[str], Progress | None], int]
"""Tries a call on virtual weights and gives the bytes it needs beside them: `diffprof.counting.rehearsal.rehearse`."""


@dataclass(frozen=True)
class LoadedPipeline:
    """A pipeline with weights, on its device."""

    opened: OpenedPipeline
    """The pipeline and where it came from, as it is measured."""
    seconds: float
    """That loading it took, or making its weights; without the time to fetch them."""
    device: str

    @property
    def pipeline(self) -> Any:
        return self.opened.pipeline

    @property
    def parameters(self) -> int:
        return sum(element_count(one) for part in components_of(self.pipeline).values() for one in part.parameters())


def load_pipeline(
    model: str | Path,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | None = None,
    random_weights: bool = False,
    scheduler: str | None = None,
    offload: str | None = None,
    cache: str | None = None,
    enable: Sequence[str] = (),
    call: Mapping[str, Any] | None = None,
    rehearse: Rehearse | None = None,
    progress: Progress | None = None,
    make_room: Callable[[int], None] | None = None,
) -> LoadedPipeline:
    """The pipeline of a catalogue name, a hub id or a folder in diffusers layout, ready to run.

    Whatever can be known to be wrong is refused before weights are fetched or loaded. With `call`, the arguments of
    the call that is to be made, that call is rehearsed without weights first: it must be possible, and fit. `make_room`
    is told how many bytes the weights will take before it is looked whether they fit.
    """
    target = target_of(device, offload)
    chosen_cache = parse_cache(cache) if cache else None
    if progress:
        progress(ProgressEvent(Activity.opening, str(model)))
    with quiet_libraries():
        origin = _origin(model, random_weights)
        plan, chosen = origin.blueprint, chosen_dtype(dtype or origin.blueprint.dtype)
        virtual, assumptions = build(plan, chosen)
        activations = 0
        if call is not None and rehearse is not None:
            activations = rehearse(virtual, plan.call, call, scheduler, enable, progress)
        if chosen_cache is not None:
            enable_cache(virtual, chosen_cache, call or {})
        sizes = {slot: weight_bytes(part) for slot, part in components_of(virtual).items()}
        if make_room is not None:
            make_room(sum(sizes.values()))
        files = _files(origin, sizes, activations, chosen, target, progress)
        began = time.perf_counter()
        pipeline, _ = build(plan, chosen, _maker(origin, files, target.weights_on, len(sizes), progress))
        apply_switches(pipeline, scheduler, enable)
        if chosen_cache is not None:
            enable_cache(pipeline, chosen_cache, call or {})
        place_pipeline(pipeline, target)
    # Where the weights are real, so is everything else.
    assumptions = (RANDOM, *assumptions) if origin.folder is None else ()
    name = str(chosen).removeprefix("torch.")
    return LoadedPipeline(
        OpenedPipeline(pipeline, plan.name, plan.source, name, plan.call, assumptions),
        seconds=time.perf_counter() - began,
        device=str(target.device),
    )


@dataclass(frozen=True)
class _Origin:
    """Where a model comes from: its plan, and the folder of its weights; without one they will be random."""

    blueprint: Blueprint
    folder: Path | None = None
    hub_id: str | None = None

    def is_quantized(self, slot: str) -> bool:
        """Whether its files hold fewer bytes than its layers seem to; random weights are never packed."""
        plan = self.blueprint.parts.get(slot)
        return self.folder is not None and plan is not None and "quantization_config" in plan.config


def _origin(model: str | Path, random_weights: bool) -> _Origin:
    if random_weights:
        return _Origin(blueprint_of(model))
    if place_of(model) is Place.folder:
        return _Origin(from_folder(folder_of(model), str(model)), folder_of(model))
    entry = find(str(model))
    hub_id = entry.hub_id if entry and entry.hub_id else str(model)
    folder = fetch_configuration(hub_id, for_weights=True)
    plan = from_folder(folder, entry.name if entry else hub_id, source="hub")
    return _Origin(replace(plan, dtype=entry.dtype, call=entry.call) if entry else plan, folder, hub_id)


def _files(
    origin: _Origin,
    sizes: Mapping[str, int],
    activations: int,
    dtype: torch.dtype,
    target: Target,
    progress: Progress | None,
) -> dict[str, WeightFiles]:
    """The weight files by slot, all there and whole, of a pipeline that fits; none where weights will be random."""
    name, parts = origin.blueprint.name, origin.blueprint.parts
    # How large a packed model is, only its files tell.
    known = {slot: size for slot, size in sizes.items() if not origin.is_quantized(slot)}
    check_memory(name, known, activations, target, random=origin.folder is None)
    if origin.folder is None:
        return {}
    _refuse_missing_texts(origin.blueprint, origin.folder)
    plans = [parts[slot] for slot in sizes if slot in parts]
    owners = {plan.slot: part_class(plan.library, plan.class_name, plan.config) for plan in plans}
    if origin.hub_id is not None:
        fetch_weights(origin.hub_id, owners, dtype, progress)
    files = {slot: weight_files(origin.folder / slot, slot, owner, dtype) for slot, owner in owners.items()}
    packed = {slot: one.file_bytes for slot, one in files.items() if origin.is_quantized(slot)}
    if packed:
        check_memory(name, {**known, **packed}, activations, target, random=False)
    return files


def _refuse_missing_texts(blueprint: Blueprint, folder: Path) -> None:
    """A pipeline that is only counted has stand-ins for these; one that runs for real needs its own."""
    for slot, plan in blueprint.parts.items():
        if "Tokenizer" in plan.class_name:
            if not has_vocabulary(plan):
                usual = ", ".join(" with ".join(names) for names in VOCABULARY_FILES)
                raise RequestError(f"{folder / slot} has none of the files of a tokenizer ({usual}); {OTHERWISE}")
        elif not plan.config and plan.class_name.endswith(("Processor", "FeatureExtractor")):
            raise RequestError(f"{folder / slot / 'preprocessor_config.json'} is missing; {OTHERWISE}")


def _maker(
    origin: _Origin,
    files: Mapping[str, WeightFiles],
    device: torch.device,
    count: int,
    progress: Progress | None,
) -> MakeModel:
    done = 0

    def make(owner: Any, plan: PartPlan, config: Mapping[str, Any], dtype: torch.dtype) -> torch.nn.Module:
        nonlocal done
        if progress:
            activity = Activity.loading if origin.folder else Activity.initializing
            progress(ProgressEvent(activity, plan.slot, done, count))
        done += 1
        if origin.folder is None:
            return random_model(owner, plan, config, dtype, device)
        return load_model(owner, plan, config, dtype, origin.folder / plan.slot, files[plan.slot]).to(device)

    return make
