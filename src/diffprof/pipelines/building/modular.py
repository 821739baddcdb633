"""Modular pipelines of diffusers: their blocks determine the inputs of the call and the components."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from diffprof.errors import RequestError, error_summary
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def modular_class(name: str) -> Any:
    """Return the modular pipeline of diffusers with this name; None if there is none."""
    if "Modular" not in name or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return None
    import diffusers

    owner = getattr(diffusers, name, None)
    return owner if isinstance(owner, type) and issubclass(owner, diffusers.ModularPipeline) else None


def build_modular(
    owner: Any, blueprint: Blueprint, make_part: Callable[[PartPlan], Any], assumptions: list[str]
) -> Any:
    """Build the pipeline from the blocks that the plan names, with its components."""
    try:
        pipeline = owner(blocks=_blocks(owner, blueprint, assumptions))
        register_parts(pipeline, blueprint, make_part)
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        raise RequestError(f"{owner.__name__} cannot be assembled: {error_summary(error)}") from error
    return pipeline


def is_blocks(value: Any) -> bool:
    """Whether these are blocks of a modular pipeline, which do not have components yet."""
    return hasattr(value, "init_pipeline") and hasattr(value, "expected_components")


def register_parts(pipeline: Any, blueprint: Blueprint, make_part: Callable[[PartPlan], Any]) -> None:
    """Give a modular pipeline the components and settings of the plan that its blocks use."""
    known = [slot for slot in blueprint.parts if slot in pipeline._component_specs]
    pipeline.register_components(**{slot: make_part(blueprint.parts[slot]) for slot in known})
    settings = {name: blueprint.pipeline_config.get(name) for name in pipeline._config_specs}
    pipeline.register_to_config(**{name: value for name, value in settings.items() if value is not None})


def _blocks(owner: Any, blueprint: Blueprint, assumptions: list[str]) -> Any:
    """Return the blocks that the index names, if they belong to diffusers; None for the pipeline's default blocks."""
    import diffusers

    name = blueprint.blocks or owner.default_blocks_name
    found: Any = getattr(diffusers, name or "", None)
    is_own = isinstance(found, type) and issubclass(found, diffusers.ModularPipelineBlocks)
    if is_own and getattr(found, "block_classes", None):
        return found()
    if blueprint.blocks:
        assumptions.append(f"{blueprint.blocks} are not blocks of diffusers: {owner.default_blocks_name} is assumed")
    return None


def block_inputs(pipeline: Any) -> dict[str, inspect.Parameter]:
    """Return the inputs of a modular pipeline's blocks as parameters of a call.

    Which of them are required depends on the others; the blocks check that when they are called.
    """
    return {
        part.name: inspect.Parameter(
            part.name, inspect.Parameter.KEYWORD_ONLY, default=part.default, annotation=part.type_hint
        )
        for part in pipeline.blocks.inputs
        if part.name
    }
