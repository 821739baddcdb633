"""Settings of schedulers without a configuration file: the differences of published models from the class defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def usual_scheduler(blueprint: Blueprint, plan: PartPlan) -> dict[str, Any]:
    """Return the values that differ from the defaults: those without a default, and those that the model determines."""
    transformer, unet = (_config(blueprint, slot) for slot in ("transformer", "unet"))
    if plan.class_name == "PNDMScheduler":
        return {"skip_prk_steps": True}
    if plan.class_name == "AmusedScheduler":
        return {"mask_token_id": int(transformer.get("vocab_size") or 8256) - 1}
    if plan.class_name == "VQDiffusionScheduler":
        return {"num_vec_classes": int(transformer.get("num_vector_embeds") or 4097)}
    if plan.class_name == "UnCLIPScheduler" and plan.slot == "decoder_scheduler":
        return {"variance_type": "learned_range"}
    if plan.class_name == "DDPMScheduler" and _predicts_variance(unet):
        return {"variance_type": "learned_range"}
    return {}


def _config(blueprint: Blueprint, slot: str) -> Mapping[str, Any]:
    part = blueprint.parts.get(slot)
    return part.config if part is not None else {}


def _predicts_variance(config: Mapping[str, Any]) -> bool:
    """Whether a model predicts a variance as well as the noise, with twice as many channels."""
    channels = config.get("in_channels")
    return isinstance(channels, int) and config.get("out_channels") == 2 * channels
