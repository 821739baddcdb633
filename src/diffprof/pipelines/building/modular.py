"""Modular pipelines of diffusers: their blocks say which inputs the call has and which components it needs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from diffprof.errors import RequestError, error_summary
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def modular_class(name: str) -> Any:
    """The modular pipeline of diffusers that has this name; None where it has none such."""
    if "Modular" not in name or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return None
    import diffusers

    owner = getattr(diffusers, name, None)
    return owner if isinstance(owner, type) and issubclass(owner, diffusers.ModularPipeline) else None


def build_modular(
    owner: Any, blueprint: Blueprint, make_part: Callable[[PartPlan], Any], assumptions: list[str]
) -> Any:
    """The pipeline of the blocks that the plan names, with its components."""
    try:
        pipeline = owner(blocks=_blocks(owner, blueprint, assumptions))
        register_parts(pipeline, blueprint, make_part)
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        raise RequestError(f"{owner.__name__} cannot be assembled: {error_summary(error)}") from error
    return pipeline


def is_blocks(value: Any) -> bool:
    """Whether these are blocks of a modular pipeline, which have no components yet."""
    return hasattr(value, "init_pipeline") and hasattr(value, "expected_components")


def register_parts(pipeline: Any, blueprint: Blueprint, make_part: Callable[[PartPlan], Any]) -> None:
    """Give a modular pipeline those components and settings of the plan that its blocks know."""
    known = [slot for slot in blueprint.parts if slot in pipeline._component_specs]
    pipeline.register_components(**{slot: make_part(blueprint.parts[slot]) for slot in known})
    settings = {name: blueprint.pipeline_config.get(name) for name in pipeline._config_specs}
    pipeline.register_to_config(**{name: value for name, value in settings.items() if value is not None})


def _blocks(owner: Any, blueprint: Blueprint, assumptions: list[str]) -> Any:
    """The blocks that the index names, if they are diffusers' own; None for the usual ones of the pipeline."""
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
    """The inputs of a modular pipeline's blocks, as arguments of a call.

    Which of them are needed depends on the others: the blocks themselves say so when they are called.
    """
    return {
        part.name: inspect.Parameter(
            part.name, inspect.Parameter.KEYWORD_ONLY, default=part.default, annotation=part.type_hint
        )
        for part in pipeline.blocks.inputs
        if part.name
    }
