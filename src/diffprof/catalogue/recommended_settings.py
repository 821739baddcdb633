"""Add the settings that a model's authors recommend to requests that leave them out."""

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
"""Arguments that replace others: if the request has one of them, the other is not recommended."""


def add_recommended(request: Request, model: ResolvedModel | None = None) -> Request:
    """Add recommended settings that the request does not have, unless it asks for the pipeline's defaults.

    `model` is the resolved model, if the caller has it. Requests of a single component get none.
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
    """The recommended call arguments of a model; empty for an unknown model, or another pipeline class."""
    if is_bundled(model.given):
        return RECOMMENDED
    entry = model.entry
    if entry is None or (model.folder is not None and _pipeline_of(model) != entry.pipeline):
        return {}
    return entry.recommended


def _is_decided(name: str, arguments: Iterable[str]) -> bool:
    given = set(arguments)
    # By default, a second guidance scale is equal to the first, so it is not recommended if the first is given.
    return name in given or name.removesuffix("_2") in given or bool(given & set(DECIDED_BY.get(name, ())))


def _pipeline_of(model: ResolvedModel) -> str | None:
    """The pipeline class that a folder names; None if it cannot be read, which opening the folder will report."""
    try:
        index = json.loads((model.folder / INDEX).read_text(encoding="utf-8")) if model.folder else None
    except (OSError, ValueError, RecursionError):
        return None
    return index.get("_class_name") if isinstance(index, dict) else None
