"""Find and describe the tensors among the arguments of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def tensors_in(arguments: Sequence[Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for argument in arguments:
        kind = argument.__class__
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            found.append(argument)
        elif kind is list or kind is tuple or isinstance(argument, (list, tuple)):
            found.extend(tensors_in(argument))
        elif isinstance(argument, torch.Tensor):
            found.append(argument)
    return found


def signature_of(value: Any) -> Any:
    """Return everything that the shape and the cost of a result can depend on; `2`, `2.0` and `True` differ."""
    kind = value.__class__
    if kind is torch.Tensor or kind is torch.nn.Parameter or isinstance(value, torch.Tensor):
        return (value.shape, value.stride(), value.dtype)
    if kind is list or kind is tuple or isinstance(value, (list, tuple)):
        return tuple([signature_of(part) for part in value])
    return (kind, value)


def dtype_text(tensor: torch.Tensor | None) -> str:
    return str(tensor.dtype).removeprefix("torch.") if tensor is not None else ""
