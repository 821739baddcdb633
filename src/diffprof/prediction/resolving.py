"""Resolve settings for a pipeline: find the components that they apply to, and refuse impossible ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diffprof.errors import RequestError
from diffprof.record.changes import EVERY
from diffprof.record.profile import Component, Profile
from diffprof.record.run_settings import RunSettings

QUANTIZED_ROLES = ("denoiser", "text_encoder")
LAYERWISE_ROLES = ("denoiser",)
"""The roles that are meant if no component is named, as in `diffprof profile`."""


def resolve_settings(profile: Profile, settings: RunSettings) -> RunSettings:
    """Resolve the settings for the components of a profile; a `RequestError` if that is not possible."""
    settings.check()
    parts = {slot: part for slot, part in profile.components.items() if part.weight_bytes}
    every = settings.quantize.get(EVERY, "")
    roles = ("denoiser",) if every.startswith("gguf:") else QUANTIZED_ROLES
    quantize = _by_slot(parts, settings.quantize, roles)
    layerwise = _by_slot(parts, settings.layerwise, LAYERWISE_ROLES)
    for slot, scheme in quantize.items():
        if slot in layerwise:
            raise RequestError(f"{slot} is either quantized or cast layer by layer, not both; leave one out.")
        if scheme.startswith("gguf:") and parts[slot].role == "text_encoder":
            raise RequestError(
                f"{slot} cannot be quantized to {scheme}: transformers unpacks GGUF files when it loads them; "
                "use nf4, int8 or fp8 for it."
            )
    _check_left_out(profile, settings)
    _check_pipeline(profile, settings)
    return replace(settings, quantize=quantize, layerwise=layerwise)


CANNOT_BE_GROUPED = frozenset({
    "AutoencoderOobleck", "ConsistencyDecoderVAE", "DiTTransformer2DModel", "HunyuanDiT2DModel", "VQModel",
})  # fmt: skip
"""Classes for which diffusers refuses group offload."""


def _check_pipeline(profile: Profile, settings: RunSettings) -> None:
    """Refuse what this pipeline has no component for, or one that diffusers cannot handle."""
    classes = {part.class_name for part in profile.components.values()}
    refused = sorted(classes & CANNOT_BE_GROUPED)
    if settings.offload.startswith("group") and refused:
        raise RequestError(f"diffusers has no group offload for {' and '.join(refused)}; use model or sequential.")
    if settings.drop_text_encoders and not _encoders(profile):
        raise RequestError("The pipeline has no text encoders to drop; leave out --drop-text-encoders.")


CAN_BE_LEFT_OUT = ("image_encoder", "safety_checker")
"""Roles of components that pipelines work without."""

OPTIONAL_ENCODER = "text_encoder_3"
"""The text encoder that pipelines of Stable Diffusion 3 replace by zeros; no other pipeline works without one."""


def _encoders(profile: Profile) -> list[str]:
    return [slot for slot, part in profile.components.items() if part.role == "text_encoder"]


def _check_left_out(profile: Profile, settings: RunSettings) -> None:
    roles = {slot: part.role for slot, part in profile.components.items()}
    usable = [slot for slot, role in roles.items() if role in CAN_BE_LEFT_OUT]
    if profile.request.pipeline.startswith("StableDiffusion3") and OPTIONAL_ENCODER in roles:
        usable.append(OPTIONAL_ENCODER)
    for slot in settings.without:
        if slot not in usable:
            reason = "cannot do without" if slot in roles else "has no component"
            hint = f"it can do without {', '.join(usable)}" if usable else "it needs all that it has"
            raise RequestError(f"The pipeline {reason} {slot!r}; {hint}.")
        if slot in settings.quantize:
            raise RequestError(f"{slot} is either quantized or left out, not both; leave one of the options out.")


def _by_slot(parts: Mapping[str, Component], given: Mapping[str, str], roles: tuple[str, ...]) -> dict[str, str]:
    for slot in given:
        if slot != EVERY and slot not in parts:
            raise RequestError(f"The pipeline has no component {slot!r} with weights; it has {', '.join(parts)}.")
    every = {slot: given[EVERY] for slot, part in parts.items() if EVERY in given and part.role in roles}
    named = {slot: value for slot, value in given.items() if slot != EVERY}
    return {slot: value for slot, value in {**every, **named}.items() if value}
