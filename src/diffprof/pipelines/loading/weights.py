"""Load a pipeline that can run: with real weights, from a folder or the hub, or with random ones.

Loading has two steps, so that the call can be rehearsed in between: `plan_loading` opens the pipeline on virtual
weights and refuses invalid requests, `LoadPlan.load` downloads and loads what the plan needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from diffprof.catalogue.names import resolve
from diffprof.errors import RequestError
from diffprof.pipelines.building.build import MakeModel, build
from diffprof.pipelines.building.tokenizers import has_vocabulary, vocabulary_files
from diffprof.pipelines.changes.real_changes import check_packages, make_changes
from diffprof.pipelines.changes.step_caches import CacheChoice, enable_cache, parse_cache
from diffprof.pipelines.components import components_of, element_count, weight_bytes
from diffprof.pipelines.input_pipelines import with_pipeline_for
from diffprof.pipelines.loading.compiling import compile_denoisers
from diffprof.pipelines.loading.device_maps import check_device_map, spread_components
from diffprof.pipelines.loading.file_loading import load_from_file
from diffprof.pipelines.loading.folder_loading import load_model
from diffprof.pipelines.loading.free_memory import check_memory
from diffprof.pipelines.loading.hub_weights import fetch_weights
from diffprof.pipelines.loading.placement import Target, place_pipeline, target_of
from diffprof.pipelines.loading.random_weights import random_model
from diffprof.pipelines.loading.ranks import check_ranks, spread_denoisers
from diffprof.pipelines.loading.weight_files import REMEDY, WeightFiles, check_variant, weight_files
from diffprof.pipelines.opening import OpenedPipeline, open_blueprint, torch_dtype
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan, needed_arguments
from diffprof.pipelines.plans.classes import Kind, kind_of, part_class
from diffprof.pipelines.plans.component_files import with_folder_weights
from diffprof.pipelines.plans.fitting import is_known_class
from diffprof.pipelines.plans.folder import from_folder
from diffprof.pipelines.plans.hub import fetch_configuration
from diffprof.pipelines.plans.single_file import slot_of_file
from diffprof.pipelines.plans.source import blueprint_of, with_entry
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.pipelines.switches import apply_switches
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.record.request import Request

RANDOM = "the weights are random: the work is that of the model, what comes out of it is noise"


@dataclass(frozen=True)
class LoadedPipeline:
    """A pipeline with weights, on its device."""

    opened: OpenedPipeline
    """The pipeline and its origin, as it is measured."""
    seconds: float
    """The time to load or initialize the weights, without downloading them."""
    device: str

    @property
    def pipeline(self) -> Any:
        return self.opened.pipeline

    @property
    def parameters(self) -> int:
        components = components_of(self.pipeline).values()
        return sum(element_count(weight) for component in components for weight in component.parameters())


@dataclass(frozen=True)
class LoadPlan:
    """A plan for loading a pipeline, checked as far as possible without weights; nothing large is downloaded yet."""

    virtual: OpenedPipeline
    """The same pipeline on virtual weights, for a rehearsal of the call; it is shared."""
    request: Request
    _origin: _Origin
    _dtype: torch.dtype
    _target: Target
    _cache: CacheChoice | None
    _call: Mapping[str, Any]

    @property
    def device(self) -> torch.device:
        """The device to run on; with several ranks, that of this rank."""
        return self._target.device

    def load(
        self,
        activation_bytes: int = 0,
        progress: Progress | None = None,
        free_memory: Callable[[int], None] | None = None,
    ) -> LoadedPipeline:
        """Download missing weights and load them, or initialize random weights.

        Refused if the weights and `activation_bytes`, the additional memory of the call, do not fit. `free_memory` is
        called before that check, with the bytes of the weights.
        """
        blueprint, target = self._origin.blueprint, self._target
        components = components_of(self.virtual.pipeline)
        sizes = {slot: weight_bytes(component) for slot, component in components.items()}
        if free_memory is not None:
            free_memory(sum(sizes.values()))
        with quiet_libraries():
            files = _files(self._origin, self.request, sizes, activation_bytes, self._dtype, target, progress)
            began = time.perf_counter()
            make_model = _model_maker(self._origin, files, target.weights_on, len(sizes), progress)
            pipeline, _ = build(blueprint, self._dtype, make_model)
            make_changes(pipeline, self.virtual.changes, self._dtype, target.weights_on)
            apply_switches(pipeline, self.request.scheduler, self.request.enable)
            if self._cache is not None:
                enable_cache(pipeline, self._cache, self._call)
            _prepare(pipeline, self.request, target)
        # With real weights, everything else must be real too.
        assumptions = (RANDOM, *self.virtual.assumptions) if self._origin.folder is None else ()
        opened = OpenedPipeline(
            pipeline, blueprint.name, blueprint.source, self.virtual.dtype, blueprint.call, assumptions,
            changes=replace(self.virtual.changes, cache=self.request.cache), preparation=_texts(self.request),
        )  # fmt: skip
        return LoadedPipeline(opened, time.perf_counter() - began, str(target.device))


def plan_loading(request: Request, call: Mapping[str, Any] | None = None, progress: Progress | None = None) -> LoadPlan:
    """Plan to load the requested pipeline: of a catalogue name, a hub id or a folder in diffusers layout.

    Invalid requests are refused here, before weights are downloaded or loaded. `call` are the arguments of the upcoming
    call, if they are not those of the request; the settings of some caches depend on them.
    """
    call = request.arguments if call is None else call
    check_ranks(request.preparation)
    target = target_of(request.device, request.offload, spread=bool(request.preparation.device_map))
    check_device_map(request.preparation.device_map, target)
    cache = parse_cache(request.cache) if request.cache else None
    if progress:
        progress(ProgressEvent(Activity.opening, str(request.model)))
    with quiet_libraries():
        origin = _origin(request)
        origin = replace(origin, blueprint=with_pipeline_for(origin.blueprint, call))
        dtype = torch_dtype(request.dtype or origin.blueprint.dtype)
        check_packages(request.changes)
        virtual = open_blueprint(origin.blueprint, dtype, replace(request.changes, cache=None))
        if cache is not None:
            # On a separate pipeline: the other one is shared, and hooks of a cache leave traces.
            enable_cache(build(origin.blueprint, dtype)[0], cache, call)
    return LoadPlan(virtual, request, origin, dtype, target, cache, call)


def _prepare(pipeline: Any, request: Request, target: Target) -> None:
    """Place the pipeline and prepare it there; compilation comes last, so that it sees the final pipeline."""
    preparation = request.preparation
    if preparation.device_map:
        spread_components(pipeline, preparation.device_map, target.device)
    else:
        place_pipeline(pipeline, target)
    spread_denoisers(pipeline, preparation)
    if preparation.compile is not None:
        compile_denoisers(pipeline, preparation.compile)


def _texts(request: Request) -> dict[str, str]:
    """Return what is recorded about the preparation of a pipeline."""
    return {**({"offload": request.offload} if request.offload else {}), **request.preparation.texts}


def load_pipeline(
    model: str | Path, *, free_memory: Callable[[int], None] | None = None, progress: Progress | None = None, **how: Any
) -> LoadedPipeline:
    """Load a pipeline without a rehearsal of a call; `how` are fields of its `Request`."""
    plan = plan_loading(Request.create(model, **how), progress=progress)
    return plan.load(progress=progress, free_memory=free_memory)


@dataclass(frozen=True)
class _Origin:
    """The origin of a model: its plan, and the folder of its weights; without a folder they will be random."""

    blueprint: Blueprint
    folder: Path | None = None
    hub_id: str | None = None
    file: Path | None = None
    """The single file with the weights of the components in `blueprint.stored`."""

    def is_from_file(self, slot: str) -> bool:
        return self.file is not None and slot in self.blueprint.stored

    def is_quantized(self, slot: str) -> bool:
        """Whether its files have fewer bytes than its layers suggest; random weights are never packed."""
        plan = self.blueprint.parts.get(slot)
        return self.folder is not None and plan is not None and "quantization_config" in plan.config


def _origin(request: Request) -> _Origin:
    model, config, revision = request.model, request.config, request.preparation.revision
    if request.random_weights:
        _refuse_revision(revision or request.preparation.variant, "random weights are in no file")
        return _Origin(replace(blueprint_of(model, config), assume_defaults=request.assume_defaults))
    resolved = resolve(model)
    if config is not None and resolved.file is None:
        raise RequestError(f"--config is for weight files, and {resolved.name} has its own configuration")
    if resolved.folder is not None or resolved.file is not None:
        _refuse_revision(revision, f"{resolved.name} is on this machine")
    if resolved.folder is not None:
        plan = with_folder_weights(from_folder(resolved.folder, resolved.name), resolved.folder)
        return _Origin(with_entry(plan, resolved), resolved.folder)
    if resolved.file is not None:
        return _origin_of_file(request, resolved.file)
    entry = resolved.entry
    hub_id = entry.hub_id if entry and entry.hub_id else str(model)
    folder = fetch_configuration(hub_id, for_weights=True, revision=revision)
    plan = from_folder(folder, entry.name if entry else hub_id, source="hub")
    return _Origin(replace(plan, dtype=entry.dtype, call=needed_arguments(entry)) if entry else plan, folder, hub_id)


def _refuse_revision(revision: str | None, reason: str) -> None:
    if revision is not None:
        raise RequestError(f"{revision} is a revision or variant of files, and {reason}; leave it out")


def _origin_of_file(request: Request, file: Path) -> _Origin:
    """Return the origin of a single file, with tokenizers and other missing parts from the model `config`."""
    config = request.config
    blueprint = blueprint_of(request.model, config)
    if config is None and slot_of_file(file) is not None:
        return _Origin(blueprint, file.absolute().parents[1], file=file)
    if config is None:
        raise RequestError(
            f"{file} has no tokenizer; name the folder or model to take it and the configuration from with --config, "
            "or run it with --random-weights"
        )
    rest = _origin(replace(request, model=config, config=None))
    parts = {
        slot: replace(plan, folder=rest.folder / slot) if rest.folder is not None else plan
        for slot, plan in rest.blueprint.parts.items()
        if slot in blueprint.parts
    }
    return _Origin(replace(blueprint, parts=parts), rest.folder, rest.hub_id, file)


def _files(
    origin: _Origin,
    request: Request,
    sizes: Mapping[str, int],
    activation_bytes: int,
    dtype: torch.dtype,
    target: Target,
    progress: Progress | None,
) -> dict[str, WeightFiles]:
    """Return the complete weight files by slot, of a pipeline that fits; empty if weights will be random."""
    name, parts = origin.blueprint.name, origin.blueprint.parts
    # The size of a packed model is known only from its files.
    known = {slot: size for slot, size in sizes.items() if not origin.is_quantized(slot)}
    check_memory(name, known, activation_bytes, target, random=origin.folder is None)
    if origin.folder is None:
        return {}
    _refuse_missing_texts(origin.blueprint, origin.folder)
    plans = [parts[slot] for slot in sizes if slot in parts and not origin.is_from_file(slot)]
    owners = {plan.slot: part_class(plan.library, plan.class_name, plan.config) for plan in plans}
    if origin.hub_id is not None:
        fetch_weights(origin.hub_id, owners, dtype, progress, request.preparation)
    variant = request.preparation.variant
    files = {slot: weight_files(origin.folder / slot, slot, owner, dtype, variant) for slot, owner in owners.items()}
    check_variant(variant, [found.variant for found in files.values()], name)
    packed = {slot: found.file_bytes for slot, found in files.items() if origin.is_quantized(slot)}
    if packed:
        check_memory(name, {**known, **packed}, activation_bytes, target, random=False)
    return files


def _refuse_missing_texts(blueprint: Blueprint, folder: Path) -> None:
    """Refuse missing tokenizers and processors: a counted pipeline has stand-ins, a real run needs the files."""
    for slot, plan in blueprint.parts.items():
        if not is_known_class(plan):
            continue
        kind = kind_of(part_class(plan.library, plan.class_name, plan.config))
        if kind is Kind.tokenizer and not has_vocabulary(plan):
            usual = ", ".join(" with ".join(names) for names in vocabulary_files(plan))
            raise RequestError(f"{folder / slot} has none of the files of a tokenizer ({usual}); {REMEDY}")
        if kind is Kind.processor and plan.is_missing:
            raise RequestError(f"{folder / slot / 'preprocessor_config.json'} is missing; {REMEDY}")
        if kind in (Kind.scheduler, Kind.guider) and plan.is_missing:
            raise RequestError(f"{folder / slot} has no configuration of the {kind.value}; {REMEDY}")


def _model_maker(
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
        if origin.file is not None and origin.is_from_file(plan.slot):
            return load_from_file(owner, plan, dtype, origin.file, origin.folder).to(device)
        return load_model(owner, plan, config, dtype, origin.folder / plan.slot, files[plan.slot]).to(device)

    return make
