"""Values for virtual tensors where code reads or writes them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

LARGEST_REAL = 1 << 20
"""Elements up to which a factory is made real. A video's position table must not be computed in every block."""

LARGEST_PICTURE = 1 << 24
"""Elements of a real image or video from which further real ones are made; nothing reads the values of a larger one."""

LARGE_VALUE = 2.0**14
"""In the range of every dtype of 16 bits and more."""


def stand_in(tensor: torch.Tensor, large: bool = False) -> torch.Tensor:
    """Real values for a virtual tensor, without memory for them: zeros; for a mask of several elements, true.

    With `large`, all truth is true and a number with a fraction is large: what a cache takes for a great change.
    """
    fill = {"true": True, "zero": 0, "large": LARGE_VALUE}[stand_in_word(tensor, large)]
    return torch.full((), fill, dtype=tensor.dtype).expand(tensor.shape)


def stand_in_word(tensor: torch.Tensor, large: bool = False) -> str:
    """What the values that stand in for those of a virtual tensor are taken as."""
    if tensor.dtype == torch.bool:
        return "true" if large or tensor.dim() > 0 else "zero"
    return "large" if large and tensor.dtype.is_floating_point else "zero"


def real_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """A writable real tensor of the same shape, all zeros, where that is small enough; else a virtual one."""
    if tensor.numel() > LARGEST_REAL:
        return empty_virtual(tensor.shape, tensor.stride(), tensor.dtype)
    return torch.zeros(tensor.shape, dtype=tensor.dtype)


def empty_virtual(shape: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")
