"""The settings that a model's maker recommends, used where a request says nothing; one rule for all commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from diffprof.catalogue.bundled_model import RECOMMENDED, is_bundled
from diffprof.catalogue.names import INDEX, ResolvedModel, resolve
from diffprof.record.request import Request

DECIDED_BY = {
    "num_inference_steps": ("timesteps", "sigmas"),
    "height": ("latents",),
    "width": ("latents",),
    "num_frames": ("latents", "video"),
    "negative_prompt": ("prompt_embeds", "negative_prompt_embeds"),
}
"""Arguments that say what another one would say: with one of them, nothing is recommended for it."""


def add_recommended(request: Request, model: ResolvedModel | None = None) -> Request:
    """The request with what is recommended for its model and not in it; the same one for the pipeline's defaults.

    `model` is what its name means, where that is known. A component that is called by itself has no call arguments.
    """
    if request.pipeline_defaults or request.component is not None:
        return request
    added = {
        name: value
        for name, value in recommended_settings(model or resolve(request.model)).items()
        if not _is_decided(name, request.arguments)
    }
    return replace(
        request,
        arguments={**added, **request.arguments},
        recommended=tuple(dict.fromkeys((*request.recommended, *added))),
    )


def recommended_settings(model: ResolvedModel) -> Mapping[str, Any]:
    """The recommended call arguments of a model; none for an unknown model, or for another pipeline."""
    if is_bundled(model.given):
        return RECOMMENDED
    entry = model.entry
    if entry is None or (model.folder is not None and _pipeline_of(model) != entry.pipeline):
        return {}
    return entry.recommended


def _is_decided(name: str, arguments: Iterable[str]) -> bool:
    given = set(arguments)
    # A second guidance scale follows the first unless it is given: one that was recommended must not outlive it.
    return name in given or name.removesuffix("_2") in given or bool(given & set(DECIDED_BY.get(name, ())))


def _pipeline_of(model: ResolvedModel) -> str | None:
    """The class that a folder names; whoever opens the folder says what is wrong with it."""
    try:
        index = json.loads((model.folder / INDEX).read_text(encoding="utf-8")) if model.folder else None
    except (OSError, ValueError, RecursionError):
        return None
    return index.get("_class_name") if isinstance(index, dict) else None
