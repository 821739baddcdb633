"""Find the pipeline for an image, mask or video if the model's own takes none; both have the same components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffprof.pipelines.arguments import has_argument
from diffprof.pipelines.plans.blueprint import Blueprint

TASKS = {
    "mask_image": "AUTO_INPAINT_PIPELINES_MAPPING",
    "image": "AUTO_IMAGE2IMAGE_PIPELINES_MAPPING",
    "video": "AUTO_VIDEO2VIDEO_PIPELINES_MAPPING",
}
"""The table of diffusers with the pipelines for a call argument; the first given argument decides."""


def with_pipeline_for(blueprint: Blueprint, arguments: Mapping[str, Any]) -> Blueprint:
    """Return the plan with diffusers' pipeline of the same family that takes the given input, as an assumption.

    The plan is unchanged if its own pipeline takes the input, or if diffusers has no other.
    """
    given = next((name for name in TASKS if arguments.get(name) is not None), None)
    if given is None:
        return blueprint
    import diffusers
    from diffusers.pipelines import auto_pipeline

    own = getattr(diffusers, blueprint.pipeline, None)
    if own is None or has_argument(blueprint.pipeline, given):
        return blueprint
    mapping = getattr(auto_pipeline, TASKS[given], {})
    found = auto_pipeline._get_task_class(mapping, blueprint.pipeline, throw_error_if_not_exist=False)
    if found is None or not has_argument(found.__name__, given):
        return blueprint
    sentence = f"{found.__name__} takes the place of {blueprint.pipeline}, which takes no {given}"
    return replace(blueprint, pipeline=found.__name__, assumptions=(*blueprint.assumptions, sentence))
