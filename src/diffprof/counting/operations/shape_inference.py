"""Infer the result of an operation on tensors without data: shapes, strides and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from diffprof.counting.operations.recorder import executed_op
from diffprof.counting.operations.shape_rules import result_by_rule
from diffprof.counting.operations.stand_in_values import empty_virtual
from diffprof.errors import UncountableError
from diffprof.record.executed_calls import ExecutedOp


def infer(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]
) -> tuple[ExecutedOp, Callable[[], Any]]:
    """Return the operation to record, and a function that creates a new virtual result."""
    result = result_by_rule(func, args, kwargs, on_meta)
    if result is None:
        result = on_meta(func, args, kwargs)
    return executed_op(func, tensors, args, result), _maker(result)


def on_meta(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result on the meta device."""
    try:
        return func(*as_meta(args), **{name: as_meta(value) for name, value in kwargs.items()})
    except NotImplementedError as error:
        raise UncountableError(
            f"the operation {func} cannot be run without data (PyTorch has no shape rule for it); "
            "please report it with the name of the pipeline"
        ) from error


def as_meta(value: Any) -> Any:
    """Replace each real tensor by a virtual one."""
    if isinstance(value, torch.Tensor):
        return value if value.is_meta else empty_virtual(value.shape, value.stride(), value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(as_meta(part) for part in value)
    if isinstance(value, torch.device):
        return torch.device("meta")
    return value


def _maker(result: Any) -> Callable[[], Any]:
    """Return a function that creates a new virtual result of the same shape."""
    if isinstance(result, torch.Tensor):
        shape, stride, dtype = result.shape, result.stride(), result.dtype
        return lambda: torch.empty_strided(shape, stride, dtype=dtype, device="meta")
    if isinstance(result, (list, tuple)):
        makers = [_maker(part) for part in result]
        kind = type(result)
        return lambda: kind(make() for make in makers)
    return lambda: result
