"""Values for virtual tensors, for code that reads or writes them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

LARGEST_REAL = 1 << 20
"""The most elements of a new real tensor. A video's position table must not be computed in every block."""

LARGEST_PICTURE = 1 << 24
"""The most elements of a real image or video whose copies are real; nothing reads the values of a larger one."""

LARGE_VALUE = 2.0**14
"""In the range of every dtype of 16 or more bits."""


def stand_in(tensor: torch.Tensor, large: bool = False) -> torch.Tensor:
    """Return values for a virtual tensor, without memory for them: zeros; for a mask of several elements, true.

    With `large`, booleans are true and floating-point numbers are large, which a cache takes for a great change.
    """
    fill = {"true": True, "zero": 0, "large": LARGE_VALUE}[stand_in_word(tensor, large)]
    return torch.full((), fill, dtype=tensor.dtype).expand(tensor.shape)


def stand_in_word(tensor: torch.Tensor, large: bool = False) -> str:
    """Return the word for the stand-in values of a virtual tensor."""
    if tensor.dtype == torch.bool:
        return "true" if large or tensor.dim() > 0 else "zero"
    return "large" if large and tensor.dtype.is_floating_point else "zero"


def real_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """Return writable real zeros of the same shape if it is small enough, else a virtual tensor."""
    if tensor.numel() > LARGEST_REAL:
        return empty_virtual(tensor.shape, tensor.stride(), tensor.dtype)
    return torch.zeros(tensor.shape, dtype=tensor.dtype)


def empty_virtual(shape: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")
