"""Models without a configuration: use that of a known model with the same denoiser, else the defaults of their class.

A denoiser takes only texts and images of the widths in its configuration, which a class's defaults seldom match.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from diffprof.catalogue import Entry, entries
from diffprof.errors import DiffprofError
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan
from diffprof.pipelines.plans.classes import Kind, kind_of, part_class

DENOISERS = ("transformer", "unet", "prior", "decoder", "prior_prior")

WIDTHS = re.compile(
    r"cross_attention_dim|joint_attention_dim|caption_(channels|dim|projection_dim)|cap_feat_dim|.*text_.*dim|.*pooled.*dim"
    r"|encoder_hid_dim|image_(dim|embed_dim|proj_dim)|context_(in_)?dim|projection_class_embeddings_input_dim"
)
"""Keys of a denoiser's configuration for the widths of its texts and images."""

CHANNELS = ("in_channels", "out_channels", "latent_channels")
"""Keys of a denoiser's configuration that determine its autoencoder."""


def with_assumed_parts(blueprint: Blueprint, dispensable: frozenset[str], assumptions: list[str]) -> Blueprint:
    """Return the plan with a configuration for every required model without one; each is an assumption."""
    parts = dict(blueprint.parts)
    for slot, plan in blueprint.parts.items():
        if plan.is_missing and slot not in dispensable and _is_model(plan):
            parts[slot], sentence = _assume_part(blueprint, plan)
            assumptions.append(f"{slot} has no configuration: {sentence}")
    return replace(blueprint, parts=parts)


def _is_model(plan: PartPlan) -> bool:
    return kind_of(part_class(plan.library, plan.class_name, plan.config)) is Kind.model


def _assume_part(blueprint: Blueprint, plan: PartPlan) -> tuple[PartPlan, str]:
    known = _known_part(blueprint, plan)
    if known is not None:
        entry, config = known
        part = replace(plan, config=config, only_differences=True, is_missing=False)
        return part, f"that of {entry.name} is assumed, whose denoiser takes the same"
    sizes = _fitting_sizes(blueprint, plan)
    but = (
        f", with {', '.join(f'{name} {value}' for name, value in sizes.items())} as the denoiser asks" if sizes else ""
    )
    part = replace(plan, config=sizes, only_differences=True, is_missing=False)
    return part, f"the defaults of {plan.class_name} are assumed{but}"


def _known_part(blueprint: Blueprint, plan: PartPlan) -> tuple[Entry, Mapping[str, Any]] | None:
    """Return the same component of the most similar catalogue model, if its denoiser takes the same inputs."""
    keys = CHANNELS if _is_autoencoder(plan) else None
    own = _denoisers(blueprint.parts)
    found: list[tuple[tuple[bool, float], Entry, Mapping[str, Any]]] = []
    for entry in entries():
        other = entry.components.get(plan.slot)
        if other is None or other.class_name != plan.class_name:
            continue
        theirs = _denoisers(entry.components)
        demanded, offered = (
            {slot: input_demands(part, keys) for slot, part in parts.items()} for parts in (own, theirs)
        )
        if own and demanded == offered and (degree := similarity_of(own, theirs)) >= MIN_SIMILARITY:
            found.append(((entry.pipeline == blueprint.pipeline, degree), entry, other.config))
    if not found:
        return None
    _, entry, config = max(found, key=lambda candidate: candidate[0])
    return entry, config


def _denoisers(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        slot: part
        for slot, part in parts.items()
        if slot in DENOISERS and part.library != "transformers" and not getattr(part, "is_missing", False)
    }


def input_demands(part: Any, keys: tuple[str, ...] | None) -> tuple[str, dict[str, Any]]:
    """Return the class of a denoiser and the values that determine its inputs, with defaults for missing ones."""
    values = _whole_config(part)
    demanded = {
        name: _plain_value(value)
        for name, value in values.items()
        if (name in keys if keys else WIDTHS.fullmatch(name))
    }
    return part.class_name, demanded


def _whole_config(part: Any) -> dict[str, Any]:
    return {name: part.config.get(name, default) for name, default in _defaults(part).items()}


def _defaults(part: Any) -> dict[str, Any]:
    owner = part_class(part.library, part.class_name, part.config)
    parameters = inspect.signature(owner.__init__).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.name != "self"}


def _plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def similarity_of(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """Return the share of equal values in two denoisers, without those that are defaults in both."""
    same = different = 0
    for slot in own:
        first, second, usual = _whole_config(own[slot]), _whole_config(theirs[slot]), _defaults(own[slot])
        for name, default in usual.items():
            values = _plain_value(first[name]), _plain_value(second.get(name))
            if values != (_plain_value(default), _plain_value(default)):
                same, different = same + (values[0] == values[1]), different + (values[0] != values[1])
    return same / (same + different) if same + different else 1.0


MIN_SIMILARITY = 0.5
"""Below this, a denoiser is a different model that happens to take the same inputs."""


def _is_autoencoder(plan: PartPlan) -> bool:
    return plan.slot in ("vae", "movq", "vqgan", "vqvae") or "Autoencoder" in plan.class_name


def _fitting_sizes(blueprint: Blueprint, plan: PartPlan) -> dict[str, Any]:
    """Return the values that differ from the class's defaults so that the denoiser accepts the model's output."""
    owner = part_class(plan.library, plan.class_name, plan.config)
    demands = dict(_demanded_widths(blueprint))
    config_class = getattr(owner, "config_class", None)
    if config_class is None or _is_autoencoder(plan):
        return _autoencoder_sizes(blueprint, owner) if _is_autoencoder(plan) else {}
    try:
        usual = config_class()
    except (TypeError, ValueError, DiffprofError):
        return {}
    # The output of a model of texts and images is that of its text part; its image part is adjusted to it.
    text, vision = getattr(usual, "text_config", None), getattr(usual, "vision_config", None)
    part = usual if text is None or hasattr(usual, "projection_dim") else text
    key = _output_key(plan, part)
    width = getattr(part, key, None)
    demanded = _demanded_width(plan, demands)
    if not isinstance(width, int) or demanded is None or width in demands.values():
        return {}
    sizes = _scale_config(part, key, width, demanded)
    if part is usual:
        return sizes
    is_fitted = hasattr(vision, "out_hidden_size")
    return {"text_config": sizes, **({"vision_config": {"out_hidden_size": demanded}} if is_fitted else {})}


def _demanded_widths(blueprint: Blueprint) -> Iterator[tuple[str, int]]:
    for part in _denoisers(blueprint.parts).values():
        for name, value in input_demands(part, None)[1].items():
            first = value[0] if isinstance(value, list) and value else value
            if type(first) is int and first > 0:
                yield name, first


def _output_key(plan: PartPlan, usual: Any) -> str:
    """Return the configuration key for the width of the model's output."""
    if "Projection" in plan.class_name and plan.slot.startswith("image") and hasattr(usual, "projection_dim"):
        return "projection_dim"
    return "d_model" if hasattr(usual, "d_model") else "hidden_size"


def _demanded_width(plan: PartPlan, demands: Mapping[str, int]) -> int | None:
    """Return the output width that this encoder needs: of images, of a pooled text (CLIP among others) or of a text."""
    order: tuple[str, ...] = (
        "cross_attention",
        "joint_attention",
        "caption",
        "cap_feat",
        "text",
        "encoder_hid",
        "context",
    )
    if plan.slot.startswith("image"):
        order = ("image", "cross_attention", "encoder_hid")
    elif plan.class_name.startswith("CLIP"):
        order = ("pooled", *order)
    for word in order:
        for name, value in demands.items():
            if word in name:
                return value
    return None


def _scale_config(usual: Any, key: str, width: int, demanded: int) -> dict[str, Any]:
    """Return the new width, and the number of heads, if it depends on the width."""
    sizes = {key: demanded}
    heads = next((name for name in ("num_attention_heads", "num_heads") if hasattr(usual, name)), None)
    has_own_head_size = any(isinstance(getattr(usual, name, None), int) for name in ("head_dim", "d_kv"))
    if key == "hidden_size" and heads is not None and not has_own_head_size:
        head_size = width // getattr(usual, heads)
        if demanded % head_size == 0:
            sizes[heads] = demanded // head_size
        elif demanded % getattr(usual, heads):
            sizes[heads] = 1
        groups = getattr(usual, "num_key_value_heads", None)
        if isinstance(groups, int) and heads in sizes:
            sizes["num_key_value_heads"] = max(n for n in range(1, groups + 1) if sizes[heads] % n == 0)
    return sizes


def _autoencoder_sizes(blueprint: Blueprint, owner: Any) -> dict[str, Any]:
    """Return as many channels as the denoiser takes."""
    parameters = inspect.signature(owner.__init__).parameters
    for part in _denoisers(blueprint.parts).values():
        channels = _whole_config(part).get("in_channels")
        if type(channels) is int and "latent_channels" in parameters:
            return {"latent_channels": channels} if parameters["latent_channels"].default != channels else {}
    return {}
