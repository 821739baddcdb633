"""Memory layouts: find inputs that an operation does not read in the order of their memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch

from diffprof.counting.formulas import kinds

ROWS_FIRST = frozenset({kinds.LINEAR, kinds.NORM})
"""Kinds that need the last dimension of their first input to be contiguous; the others follow their output."""

ANY_ORDER = frozenset({kinds.CONVOLUTION, kinds.ATTENTION, kinds.MATMUL, kinds.EMBEDDING, kinds.REDUCTION})
"""Kinds whose kernels accept any order, or whose output does not determine it."""


def strided_bytes(kind: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    """Return the bytes of inputs that neighbouring threads of a GPU would read from distant addresses.

    In these inputs, the contiguous dimension is not the one along which the operation needs the elements.
    """
    if kind in ANY_ORDER or not inputs or not outputs:
        return 0
    if kind in ROWS_FIRST:
        first = inputs[0]
        return stored_bytes(first) if _innermost(first) not in (None, first.dim() - 1) else 0
    out = outputs[0]
    along = _innermost(out)
    if along is None:
        return 0
    return sum(stored_bytes(tensor) for tensor in inputs if _is_strided(tensor, out.dim(), along))


def _is_strided(tensor: torch.Tensor, dimensions: int, along: int) -> bool:
    place = along - (dimensions - tensor.dim())
    if place < 0 or place >= tensor.dim() or tensor.shape[place] == 1 or tensor.stride(place) == 0:
        return False  # one value serves the whole dimension
    inner = _innermost(tensor)
    return inner is not None and inner != place


def _innermost(tensor: torch.Tensor) -> int | None:
    """Return the dimension with the smallest stride; None for a tensor of one element."""
    strides = [(stride, -place) for place, stride in enumerate(tensor.stride()) if stride and tensor.shape[place] > 1]
    return -min(strides)[1] if strides else None


def stored_bytes(tensor: torch.Tensor) -> int:
    """Return the stored bytes; an expanded dimension (stride 0) is stored, read and written once."""
    sizes = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return prod(sizes) * tensor.element_size()
