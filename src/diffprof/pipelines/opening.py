"""Open a pipeline: by name on virtual weights, or a live one of the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.building.build import build, build_blocks, build_component
from diffprof.pipelines.changes.virtual_changes import apply_changes
from diffprof.pipelines.components import components_of
from diffprof.pipelines.headers.stored_weights import StoredWeights
from diffprof.pipelines.input_pipelines import with_pipeline_for
from diffprof.pipelines.packing.file_packing import plan_file_packing
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.pipelines.plans.architectures import MisfitError, check_fit
from diffprof.pipelines.plans.blueprint import Blueprint
from diffprof.pipelines.plans.controlnet_folders import base_of_controlnet, folder_of
from diffprof.pipelines.plans.depth import with_stored_depth
from diffprof.pipelines.plans.source import blueprint_of, component_blueprint
from diffprof.record.changes import Changes
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.settings.limits import dtype_name


class OpenedPipeline:
    """A pipeline to profile, and its origin."""

    def __init__(
        self,
        pipeline: Any,
        name: str,
        source: str,
        dtype: str | None = None,
        call: Mapping[str, Any] | None = None,
        assumptions: tuple[str, ...] = (),
        stored: Mapping[str, StoredWeights] | None = None,
        changes: Changes | None = None,
        preparation: Mapping[str, str] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.name = name
        self.source = source
        self.dtype = dtype
        self.call = call or {}
        self.assumptions = assumptions
        self.stored = stored or {}
        """The stored weights by slot, if they are used as they are stored."""
        self.changes = changes or Changes()
        """The changes to the pipeline, by component."""
        self.preparation = preparation or {}
        """How it was prepared for its calls, such as ``{"compile": "regional"}``; not known for a live one."""


def open_live(pipeline: Any) -> OpenedPipeline:
    """Wrap a live pipeline of the caller."""
    return OpenedPipeline(pipeline, str(getattr(pipeline, "name_or_path", None) or type(pipeline).__name__), "object")


_BUILT: dict[tuple[Any, ...], OpenedPipeline] = {}
_BUILT_LIMIT = 2
"""The number of built pipelines to keep in this process: a second profile of one only has to count."""


def open_virtual(
    model: str | Path,
    dtype: str | torch.dtype | None,
    progress: Progress | None,
    config: str | None = None,
    assume_defaults: bool = False,
    changes: Changes | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> OpenedPipeline:
    """Open the pipeline of a name, folder, file or hub id on virtual weights; the last ones are cached."""
    if progress:
        progress(ProgressEvent(Activity.opening, str(model)))
    requested = None if dtype is None else str(torch_dtype(dtype)).removeprefix("torch.")
    place = folder_of(model)
    controlnet = base_of_controlnet(place)
    if controlnet is not None:
        folder, base = controlnet
        changes = changes or Changes()
        changes = replace(changes, controlnet=(str(folder), *changes.controlnet))
        blueprint = blueprint_of(base, config, requested)
        sentence = f"{model} is a ControlNet: it is counted with {base}"
        blueprint = replace(blueprint, name=str(model), assumptions=(sentence, *blueprint.assumptions))
    else:
        blueprint = blueprint_of(model, config, requested, place)
    blueprint = replace(blueprint, assume_defaults=assume_defaults)
    if dtype is not None:
        # Loading in another dtype casts the stored weights, except packed ones.
        packed = {slot: weights for slot, weights in blueprint.stored.items() if weights.is_packed}
        blueprint = replace(blueprint, stored=packed)
    return open_blueprint(blueprint, torch_dtype(dtype or blueprint.dtype), changes, arguments)


def open_blueprint(
    blueprint: Blueprint,
    dtype: torch.dtype,
    changes: Changes | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> OpenedPipeline:
    """Build the pipeline of a plan on virtual weights; the last ones are cached, so do not change it.

    `arguments` are those of the upcoming call: for images, a pipeline that takes none is replaced by one that does, and
    the settings of some caches depend on them.
    """
    blueprint = with_pipeline_for(blueprint, arguments or {})
    changes = changes or Changes()
    key = (repr(blueprint), dtype, repr(changes), repr(arguments) if changes.cache else None)
    name = str(dtype).removeprefix("torch.")
    with DRY_RUN_LOCK:
        opened = _BUILT.get(key)
        if opened is None:
            pipeline, assumptions, stored = _build_to_fit(blueprint, dtype)
            pipeline, made, assumed = apply_changes(pipeline, changes, dtype, arguments or {})
            stored = _unchanged_weights(stored, made, components_of(pipeline))
            while len(_BUILT) >= _BUILT_LIMIT:
                _BUILT.pop(next(iter(_BUILT)))
            opened = _BUILT[key] = OpenedPipeline(
                pipeline, blueprint.name, blueprint.source, name, blueprint.call, (*assumptions, *assumed), stored, made
            )
    return opened


def _build_to_fit(blueprint: Blueprint, dtype: torch.dtype) -> tuple[Any, tuple[str, ...], dict[str, StoredWeights]]:
    """Build the pipeline with as many blocks as its weight file has; return it, the assumptions and stored weights."""
    pipeline, assumptions = build(blueprint, dtype)
    models = components_of(pipeline)
    stored = {slot: weights for slot, weights in blueprint.stored.items() if slot in models}
    try:
        for slot, weights in stored.items():
            assumptions += tuple(check_fit(slot, models[slot], weights, blueprint.source == "file"))
            assumptions += tuple(plan_file_packing(slot, models[slot], weights))
            if weights.main_dtype != str(dtype).removeprefix("torch."):
                computed = str(dtype).removeprefix("torch.")
                assumptions += (f"{slot} is stored in {weights.main_dtype} and counted as if computed in {computed}",)
    except MisfitError as error:
        plan = blueprint.parts[error.slot]
        deeper = with_stored_depth(plan, models[error.slot], error.names)
        if deeper is None:
            raise
        changed = {key: value for key, value in deeper.config.items() if plan.config.get(key) != value}
        counts = " and ".join(f"{key} {value}" for key, value in changed.items())
        sentence = f"{error.slot} has as many blocks as the file holds: {counts}"
        parts = {**blueprint.parts, error.slot: deeper}
        try:
            return _build_to_fit(replace(blueprint, parts=parts, assumptions=(*blueprint.assumptions, sentence)), dtype)
        except MisfitError:
            raise error from None
    return pipeline, assumptions, stored


def _unchanged_weights(
    stored: Mapping[str, StoredWeights], changes: Changes, models: Mapping[str, torch.nn.Module]
) -> dict[str, StoredWeights]:
    """Return the stored weights of components that still use exactly those: unchanged, without adapters."""
    changed = {**changes.quantize, **changes.layerwise}
    for slot, kind in changed.items():
        if slot in stored and stored[slot].is_packed:
            raise RequestError(f"{slot} is packed already ({stored[slot].main_dtype}); it cannot be changed to {kind}")
    adapted = {slot for slot in stored if any(hasattr(module, "lora_A") for module in models[slot].modules())}
    return {slot: weights for slot, weights in stored.items() if slot not in changed and slot not in adapted}


def open_blocks(blocks: Any, dtype: str | torch.dtype | None, config: str | None) -> OpenedPipeline:
    """Open the pipeline of live blocks, with the components of the model `config` on virtual weights."""
    if config is None:
        raise RequestError(
            f"{type(blocks).__name__} has no components yet; name the model to take them from "
            "(config=...), or give the pipeline that init_pipeline and load_components make"
        )
    blueprint = blueprint_of(config)
    chosen = torch_dtype(dtype or blueprint.dtype)
    pipeline, assumptions = build_blocks(blocks, blueprint, chosen)
    name = str(chosen).removeprefix("torch.")
    return OpenedPipeline(pipeline, type(blocks).__name__, "object", name, blueprint.call, assumptions)


def open_component(
    model: str | Path, slot: str, dtype: str | None, progress: Progress | None, config: str | None = None
) -> OpenedPipeline:
    """Open one component of a model on virtual weights, in place of a pipeline."""
    if progress:
        progress(ProgressEvent(Activity.opening, str(model)))
    blueprint = component_blueprint(model, slot, config)
    chosen = torch_dtype(dtype or blueprint.dtype)
    part, assumptions = build_component(blueprint, slot, chosen)
    name = str(chosen).removeprefix("torch.")
    stored = {} if dtype is not None else {slot: blueprint.stored[slot]} if slot in blueprint.stored else {}
    return OpenedPipeline(part, f"{slot} of {blueprint.name}", blueprint.source, name, {}, assumptions, stored)


def torch_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """Return the dtype with this name."""
    return dtype if isinstance(dtype, torch.dtype) else getattr(torch, str(dtype_name(dtype)))
