"""A hash of the state that determines the cost of a call: the pipeline's components and the flags of their modules."""

from __future__ import annotations

from typing import Any

import torch

from diffprof.pipelines.components import components_of, parts_of, unwrap_compiled

PLAIN_TYPES = frozenset({bool, int, float, str, type(None)})


def state_hash(pipeline: Any) -> int:
    """A hash that changes if something was enabled, loaded or replaced since the last call."""
    components = list(components_of(pipeline).values())
    switches = tuple(value for component in components for value in _switches(unwrap_compiled(component)))
    dtypes = tuple(next((weight.dtype for weight in component.parameters()), None) for component in components)
    return hash((switches, dtypes, tuple(map(_identity, parts_of(pipeline).values()))))


def _identity(part: Any) -> Any:
    """The identity of a module, but the configuration of a scheduler, because some pipelines copy theirs."""
    return id(part) if isinstance(part, torch.nn.Module) else (type(part), repr(getattr(part, "config", None)))


def _switches(component: torch.nn.Module) -> list[Any]:
    """The modules of a component, and the plain attributes that their code may branch on.

    Runs after every call, over thousands of modules, so functions are inlined for speed.
    """
    values: list[Any] = []
    modules, seen = [component], set()
    while modules:
        module = modules.pop()
        attributes = module.__dict__
        inside = attributes.get("_modules", {})  # modules of TorchScript have none: their code does not change
        children = [child for child in inside.values() if child is not None and id(child) not in seen]
        ids = list(map(id, children))
        seen.update(ids)
        modules += children
        values += ids
        values += [value for value in attributes.values() if type(value) in PLAIN_TYPES]
        if "processor" in attributes:  # by class, not by identity: some pipelines set new ones in every call
            processor = attributes["processor"]
            values += [
                type(processor),
                *(value for value in vars(processor).copy().values() if type(value) in PLAIN_TYPES),
            ]
        if "merged_adapters" in attributes:  # a peft layer: which adapters compute, and which are merged
            values += [str(attributes.get("_active_adapter")), str(attributes["merged_adapters"])]
    return values
