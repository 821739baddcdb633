"""Pass a guidance scale to a pipeline: the argument has several names, and some pipelines have none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from diffprof.errors import RequestError

OTHER_NAMES = ("text_guidance_scale", "prior_guidance_scale", "decoder_guidance_scale", "max_guidance_scale")
"""Other names of the argument, for pipelines without `guidance_scale`; a cascade is guided in its prior."""


@dataclass(frozen=True)
class Guidance:
    """How a guidance scale is passed to one pipeline."""

    arguments: dict[str, Any] = field(default_factory=dict)
    guider: Any = None
    """Replaces the pipeline's own guider during the call."""
    notes: tuple[str, ...] = ()


def guidance_for(pipeline: Any, parameters: Iterable[str], scale: float, negative_prompt: str | None) -> Guidance:
    """Find out how to pass a scale to this pipeline; a `RequestError` if it would have no effect."""
    names, owner = set(parameters), type(pipeline).__name__
    embedded = _embeds_guidance(pipeline)
    # If a pipeline has both, guidance_scale is for models that were distilled to take the scale as an input.
    if "true_cfg_scale" in names and not ("guidance_scale" in names and embedded):
        return _true_cfg_guidance(owner, names, scale, negative_prompt)
    if "guidance_scale" in names:
        if embedded is False and not hasattr(type(pipeline), "do_classifier_free_guidance"):
            raise RequestError(f"{owner} would ignore the guidance scale, which its model does not use; leave it out")
        return Guidance({"guidance_scale": scale})
    if "distilled_guidance_scale" in names and embedded:
        return Guidance({"distilled_guidance_scale": scale})
    guider: Any = getattr(pipeline, "guider", None)
    if hasattr(guider, "guidance_scale") and hasattr(guider, "new"):
        return Guidance(guider=guider.new(guidance_scale=scale))
    other = next((name for name in OTHER_NAMES if name in names), None)
    if other is None:
        raise RequestError(f"{owner} has no guidance scale; leave it out")
    return Guidance({other: scale}, notes=(f"{owner} takes the guidance scale as {other}",))


def _true_cfg_guidance(owner: str, names: set[str], scale: float, negative_prompt: str | None) -> Guidance:
    arguments: dict[str, Any] = {"true_cfg_scale": scale}
    notes = [f"{owner} takes the guidance scale as true_cfg_scale"]
    if scale > 1 and negative_prompt is None and "negative_prompt" in names:
        # Without a negative prompt these pipelines do not guide at all.
        arguments["negative_prompt"] = ""
        notes.append("it guides only away from a negative prompt: an empty one was added")
    return Guidance(arguments, notes=tuple(notes))


def _embeds_guidance(pipeline: Any) -> bool | None:
    """Whether the model takes the scale as an input; None if its configuration does not say."""
    for slot in ("transformer", "unet"):
        config: Any = getattr(vars(pipeline).get(slot), "config", None)
        embeds = config.get("guidance_embeds") if hasattr(config, "get") else None
        if embeds is not None:
            return bool(embeds)

    return None
