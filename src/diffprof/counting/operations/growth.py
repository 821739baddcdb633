"""Operations that make large tensors from small ones; their results stay virtual even if the inputs are real."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import torch

from diffprof.counting.formulas import table as formulas
from diffprof.counting.operations.stand_in_values import LARGEST_PICTURE, LARGEST_REAL

aten = torch.ops.aten


def grows(func: Any, args: tuple[Any, ...], tensors: Sequence[torch.Tensor], in_component: bool = False) -> bool:
    """Whether the result of real tensors is too large to compute, such as a mask of tokens by tokens from two rows.

    Tensors that a component enlarges are virtual too; a pipeline's own code may read an image that it has resized.
    """
    if not tensors:
        return False
    first = tensors[0].shape
    if in_component and _enlarges(func):
        elements = first[:2].numel() * prod(args[1])
    elif not spreads(func) or _are_small(func, tensors):
        return False
    elif first.numel() > LARGEST_PICTURE and tensors[0].is_floating_point():
        return True
    elif func is not aten.repeat.default and all(tensor.shape == first or tensor.dim() == 0 for tensor in tensors):
        elements = first.numel()
    else:
        elements = torch.broadcast_shapes(*(tensor.shape for tensor in tensors)).numel()
    if func is aten.repeat.default:
        elements *= prod(args[1])
    if elements <= LARGEST_REAL:
        return False
    return elements > max(tensor.untyped_storage().nbytes() // tensor.element_size() for tensor in tensors)


def _are_small(func: Any, tensors: Sequence[torch.Tensor]) -> bool:
    """Whether the tensors cannot make a large one together, as in a step of a scheduler; this is the usual case."""
    return func is not aten.repeat.default and prod([tensor.numel() for tensor in tensors]) <= LARGEST_REAL


@cache
def _enlarges(func: Any) -> bool:
    return formulas.plain_name(func).removeprefix("_").startswith("upsample_") and "backward" not in func.name()


@cache
def spreads(func: Any) -> bool:
    """Whether the result can have more elements than any input."""
    return torch.Tag.pointwise in func.tags or func in COPIES


COPIES = frozenset({aten._to_copy.default, aten.repeat.default})
