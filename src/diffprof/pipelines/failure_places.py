"""Locate a failed call in a pipeline's components: the module, its inputs, and those of its component."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from diffprof.pipelines.components import components_of, named_modules_of, unwrap_compiled


def place_of_failure(pipeline: Any, error: BaseException) -> str:
    """Return the innermost module that failed and its inputs; empty for code outside of modules.

    Messages of torch such as "Invalid channel dimensions" name neither.
    """
    calls = list(_module_calls(error))
    for slot, component in components_of(pipeline).items():
        paths = {id(module): path for path, module in named_modules_of(component)}
        inside = [call for call in calls if id(call[0]) in paths]
        if inside:
            module, arguments = inside[-1]
            whole = next((given for owner, given in calls if owner is unwrap_compiled(component)), {})
            name = ".".join(filter(None, (slot, paths[id(module)])))
            return f"{name}, {_short(module)}, got {_shapes(arguments)}{_origin(slot, arguments, whole)}"
    return ""


def _module_calls(error: BaseException) -> Iterator[tuple[torch.nn.Module, Mapping[str, Any]]]:
    """Yield the module calls in the traceback with their arguments by name, outermost first."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        values = frame.f_locals
        if frame.f_code.co_name == "_call_impl" and isinstance(values.get("self"), torch.nn.Module):
            module = values["self"]
            try:
                bound = inspect.signature(module.forward).bind_partial(*values["args"], **values["kwargs"])
            except (TypeError, ValueError, KeyError):
                continue
            yield module, bound.arguments


def _short(module: torch.nn.Module) -> str:
    """Describe a module: a layer with its expected width, any other module by its class."""
    width = getattr(module, "in_features", getattr(module, "in_channels", None))
    name = type(module).__name__
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}" + (f" for {width} channels" if isinstance(width, int) else "")


def _shapes(arguments: Mapping[str, Any]) -> str:
    tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    shapes = ["x".join(map(str, value.shape)) or "a scalar" for value in tensors.values()]
    if len(shapes) == 1:
        return shapes[0]
    return ", ".join(f"{name} {shape}" for name, shape in zip(list(tensors)[:3], shapes, strict=False)) or "no tensor"


def _origin(slot: str, arguments: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Return the input of the component that the module got, if it was passed on unchanged."""
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    handed_on = [name for name, value in whole.items() if any(value is tensor for tensor in tensors)]
    return f", the {' and '.join(handed_on[:3])} of {slot}" if handed_on and whole is not arguments else ""
