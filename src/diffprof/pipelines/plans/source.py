"""The plan of a model by name: from the catalogue, a folder, a file, or the hub."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diffprof.catalogue.names import Place, ResolvedModel, is_model_folder, resolve
from diffprof.errors import RequestError
from diffprof.pipelines.plans.adapter_folders import from_adapter_folder
from diffprof.pipelines.plans.blueprint import Blueprint, from_entry, needed_arguments
from diffprof.pipelines.plans.component_files import with_folder_weights, with_hub_weights
from diffprof.pipelines.plans.denoiser_folders import from_denoiser_folder
from diffprof.pipelines.plans.folder import from_component_folder, from_folder
from diffprof.pipelines.plans.single_file import from_file


def blueprint_of(
    model: str | Path, config: str | None = None, dtype: str | None = None, fetched: Path | None = None
) -> Blueprint:
    """Return the plan of the model, wherever its configuration is.

    `config` is the model whose configuration a weight file uses; without it, the configuration is inferred. `dtype` is
    the requested one, because a folder may have weights in several. `fetched` is the folder of a configuration that was
    just downloaded from the hub.
    """
    resolved = resolve(model)
    if resolved.file is not None:
        return from_file(resolved.file, resolved.name, config, blueprint_of)
    if config is not None:
        raise RequestError(f"--config is for weight files, and {resolved.name} has its own configuration")
    if resolved.folder is not None:
        alone = _lone_component(resolved.folder, resolved.name, dtype)
        if alone is not None:
            return alone
        plan = with_folder_weights(from_folder(resolved.folder, resolved.name), resolved.folder, dtype)
        return with_entry(plan, resolved)
    if resolved.place is Place.hub:
        from diffprof.pipelines.plans.hub import fetch_component, fetch_configuration

        folder = fetched or fetch_configuration(resolved.name)
        alone = _lone_component(folder, resolved.name, dtype)
        if alone is not None:
            return replace(alone, source="hub")
        blueprint = from_folder(folder, resolved.name, source="hub", fetch=fetch_component)
        blueprint = with_folder_weights(blueprint, folder, dtype)
        return blueprint if blueprint.stored else with_hub_weights(blueprint, resolved.name, dtype)
    assert resolved.entry is not None, "its place was found by looking for the entry"
    return from_entry(resolved.entry)


def _lone_component(folder: Path, name: str, dtype: str | None) -> Blueprint | None:
    """Return the plan of a pipeline with the lone component of a folder; None for the folder of a pipeline."""
    if is_model_folder(folder):
        return None
    return (
        _enclosing_pipeline(folder, name, dtype)
        or from_denoiser_folder(folder, name)
        or from_adapter_folder(folder, name)
    )


def _enclosing_pipeline(folder: Path, name: str, dtype: str | None) -> Blueprint | None:
    """Return the plan of the pipeline that a component's folder belongs to."""
    parent = folder.absolute().parent
    if not is_model_folder(parent):
        return None
    plan = from_folder(parent, name)
    if folder.name not in plan.parts:
        return None
    sentence = f"{name} is a component: it is counted in the pipeline around it"
    return with_folder_weights(replace(plan, assumptions=(sentence, *plan.assumptions)), parent, dtype)


def with_entry(plan: Blueprint, resolved: ResolvedModel) -> Blueprint:
    """Return the plan of a folder with the values of the user's own entry: the dtype, and what its call needs."""
    entry = resolved.entry
    if entry is None or entry.path is None:
        return plan
    return replace(plan, dtype=entry.dtype, call=needed_arguments(entry))


def component_blueprint(model: str | Path, slot: str, config: str | None = None) -> Blueprint:
    """Return the plan of a model that has this component; the folder of one component is sufficient."""
    resolved = resolve(model)
    if resolved.folder is not None and not is_model_folder(resolved.folder):
        return from_component_folder(resolved.folder, slot, resolved.name)
    if resolved.place is Place.hub:
        from diffprof.pipelines.plans.hub import fetch_configuration

        folder = fetch_configuration(resolved.name)
        if not is_model_folder(folder):
            return replace(from_component_folder(folder, slot, resolved.name), source="hub")
    blueprint = blueprint_of(model, config)
    if slot not in blueprint.parts:
        raise RequestError(f"{blueprint.name} has no component {slot!r}; it has {', '.join(blueprint.parts)}.")
    return blueprint
