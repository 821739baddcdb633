"""Change a pipeline on virtual weights: adapters first, then the storage of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.changes.attention_choice import choose_attention
from diffprof.pipelines.changes.controlnets import add_controlnets
from diffprof.pipelines.changes.ip_adapters import add_ip_adapter
from diffprof.pipelines.changes.lora import add_lora
from diffprof.pipelines.changes.step_caches import enable_cache, parse_cache
from diffprof.pipelines.components import components_of, role_of
from diffprof.pipelines.packing.packed_weights import packed_weight
from diffprof.pipelines.packing.quantization import plan_quantization
from diffprof.record.changes import EVERY, Changes

QUANTIZED_ROLES = ("denoiser", "text_encoder")
"""The roles to quantize if no component is named: they have most weights. VAEs have few, and lose quality."""

LAYERWISE_ROLES = ("denoiser",)


def apply_changes(
    pipeline: Any, changes: Changes, dtype: torch.dtype, arguments: Mapping[str, Any]
) -> tuple[Any, Changes, list[str]]:
    """Change the pipeline; return it with the changes by component and the assumptions made."""
    assumptions: list[str] = []
    if changes.controlnet:
        pipeline, notes = add_controlnets(pipeline, changes.controlnet, dtype)
        assumptions += notes
    if changes.ip_adapter:
        assumptions += add_ip_adapter(pipeline, changes.ip_adapter, dtype)
    every = changes.quantize.get(EVERY, "")
    usual_roles = QUANTIZED_ROLES if not every.startswith("gguf:") else ("denoiser",)
    quantized = chosen_components(pipeline, changes.quantize, usual_roles)
    for slot, kind in quantized.items():
        assumptions += _quantize(pipeline, slot, kind)
    for number, lora in enumerate(changes.lora):
        assumptions += add_lora(pipeline, lora, dtype, f"lora_{number}")
    layerwise = chosen_components(pipeline, changes.layerwise, LAYERWISE_ROLES)
    for slot, storage in layerwise.items():
        store_layers(pipeline, slot, storage, dtype)
    if changes.attention:
        assumptions += choose_attention(pipeline, changes.attention)
    if changes.cache:
        enable_cache(pipeline, parse_cache(changes.cache), arguments)
    return pipeline, replace(changes, quantize=quantized, layerwise=layerwise), assumptions


def chosen_components(pipeline: Any, requested: Mapping[str, str], usual_roles: tuple[str, ...]) -> dict[str, str]:
    """Return the components to change: those that are named, and for ``*`` those with the usual roles."""
    roles = {slot: role_of(slot, part) for slot, part in components_of(pipeline).items()}
    for slot in requested:
        if slot != EVERY and slot not in roles:
            raise RequestError(f"{type(pipeline).__name__} has no component {slot!r}; it has {', '.join(roles)}")
    every = requested.get(EVERY)
    usual = {slot: every for slot, role in roles.items() if every and role in usual_roles}
    named = {slot: kind for slot, kind in requested.items() if slot != EVERY}
    return {slot: kind for slot, kind in {**usual, **named}.items() if kind}


def _quantize(pipeline: Any, slot: str, kind: str) -> list[str]:
    model = components_of(pipeline)[slot]
    _refuse_packed(slot, model, kind)
    done = plan_quantization(slot, model, kind)
    notes = [f"{slot} is quantized to {kind}: {done.packed:,} linear layers are packed"]
    if done.left:
        notes[0] += f", {done.left:,} do not have the sizes for it"
    if kind.startswith("gguf:"):
        notes.append(f"all linear layers of {slot} are {kind.removeprefix('gguf:')}; published files mix several types")
    if kind == "bitsandbytes:int8":
        notes.append(f"no feature of {slot} is an outlier that bitsandbytes would compute in float16")
    return notes


def _refuse_packed(slot: str, model: torch.nn.Module, kind: str) -> None:
    """Refuse to quantize weights that are published quantized in another way."""
    packed = next(filter(None, map(packed_weight, model.parameters())), None)
    if packed is not None:
        raise RequestError(f"{slot} is packed already ({packed.kind}); it cannot be changed to {kind}")


def store_layers(pipeline: Any, slot: str, storage: str, dtype: torch.dtype) -> None:
    """Store the layers of a component in a smaller dtype, and cast each when it is called."""
    model: Any = components_of(pipeline)[slot]
    _refuse_packed(slot, model, storage)
    if not hasattr(model, "enable_layerwise_casting"):
        raise RequestError(f"{slot} cannot be stored layerwise: {type(model).__name__} is not a model of diffusers")
    try:
        model.enable_layerwise_casting(storage_dtype=getattr(torch, storage), compute_dtype=dtype)
    except Exception as error:
        raise RequestError(f"{slot} cannot be stored as {storage} layer by layer: {first_line(error)}") from error
