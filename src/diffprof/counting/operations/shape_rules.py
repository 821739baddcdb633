"""Shapes of common results in closed form, because some of PyTorch's own rules take milliseconds.

They apply only to contiguous tensors. PyTorch determines the dtypes, once, from the same operation on tensors of one
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from diffprof.counting.operations.stand_in_values import empty_virtual
from diffprof.counting.operations.tensors import signature_of

aten = torch.ops.aten
Infer = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


def result_by_rule(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], infer: Infer) -> Any:
    """Return the virtual result of the operation, or None if there is no rule. `infer` calls PyTorch."""
    rule = RULES.get(func) or (_elementwise if torch.Tag.pointwise in func.tags else None)
    found = None if rule is None or kwargs else rule(args)
    if found is None:
        return None
    example, shapes = found
    key = (func, signature_of(example))
    if key not in _DTYPES:
        if len(_DTYPES) > CACHE_LIMIT:
            _DTYPES.clear()
        _DTYPES[key] = _dtypes_of(infer(func, example, {}))
    dtypes = _DTYPES[key]
    if len(dtypes) != len(shapes):
        return None
    results = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in zip(shapes, dtypes, strict=True)]
    return tuple(results) if len(results) > 1 else results[0]


_DTYPES: dict[Any, tuple[torch.dtype, ...]] = {}
"""Dtypes of results, by operation and example."""
CACHE_LIMIT = 10_000

Found = tuple[tuple[Any, ...], Sequence[Sequence[int]]]
"""The arguments of an example of one element, and the shapes of the results."""


def _dtypes_of(result: Any) -> tuple[torch.dtype, ...]:
    results = result if isinstance(result, (list, tuple)) else (result,)
    return tuple(part.dtype for part in results if isinstance(part, torch.Tensor))


def _elementwise(args: tuple[Any, ...]) -> Found | None:
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    if not tensors or any(isinstance(value, (list, tuple)) for value in args) or not all(map(_is_in_order, tensors)):
        return None
    shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(_example(value) for value in args), [shape]


def _group_norm(args: tuple[Any, ...]) -> Found | None:
    x, weight, bias, batch, _, _, groups, *eps = args
    if not _is_in_order(x):
        return None
    return (_example(x), _example(weight), _example(bias), 1, 1, 1, 1, *eps), [
        x.shape,
        (batch, groups),
        (batch, groups),
    ]


def _layer_norm(args: tuple[Any, ...]) -> Found | None:
    x, size, weight, bias, *eps = args
    if not _is_in_order(x):
        return None
    ones = [1] * len(size)
    statistics = (*x.shape[: x.dim() - len(size)], *ones)
    return (_example(x), ones, _example(weight), _example(bias), *eps), [x.shape, statistics, statistics]


RULES: dict[Any, Callable[[tuple[Any, ...]], Found | None]] = {
    aten.native_group_norm.default: _group_norm,
    aten.native_layer_norm.default: _layer_norm,
}


def _is_in_order(tensor: torch.Tensor) -> bool:
    """Whether its strides are those of a new tensor of its shape, including dimensions of one element."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if stride != expected:
            return False
        expected *= max(size, 1)
    return True


def _example(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    ones = (1,) * value.dim()
    return empty_virtual(ones, ones, value.dtype)
