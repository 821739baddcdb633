"""Autocast around a profiled call: casts inputs of functions as torch does, to the lower dtype or to float32.

torch's own casts happen below Python and depend on the device of a tensor, which virtual tensors do not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

PRODUCTS = frozenset(
    [
        F.linear, torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.mm, torch.Tensor.mm, torch.bmm,
        torch.Tensor.bmm, torch.addmm, torch.addbmm, torch.baddbmm, torch.mv, torch.einsum, torch.conv1d, torch.conv2d,
        torch.conv3d, torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d,
        F.scaled_dot_product_attention,
    ]
)  # fmt: skip
"""Functions that use the lower dtype on every device."""

IN_FLOAT32 = frozenset(
    [
        F.softmax, torch.softmax, torch.Tensor.softmax, F.layer_norm, F.group_norm, torch.exp, torch.Tensor.exp,
        torch.log, torch.pow, torch.Tensor.pow, torch.rsqrt, torch.cumsum, torch.Tensor.cumsum, torch.sum,
        torch.Tensor.sum, torch.norm, F.softplus, F.mse_loss,
    ]
)  # fmt: skip
"""Functions that use float32 on accelerators; the CPU does not cast their inputs."""


@dataclass(frozen=True)
class Autocast:
    """The current casts: the lower dtype, and whether some functions use float32."""

    dtype: torch.dtype
    raises: bool

    def cast(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as torch would cast them for this function."""
        if func in PRODUCTS:
            return self.lower(args), {name: self.lower(value) for name, value in kwargs.items()}
        if self.raises and func in IN_FLOAT32:
            return _to(args, torch.float32), {name: _to(value, torch.float32) for name, value in kwargs.items()}
        return args, kwargs

    def lower(self, value: Any) -> Any:
        """Cast floating-point tensors, except float64, to the lower dtype."""
        return _to(value, self.dtype)


def active_autocast(device: str) -> Autocast | None:
    """Return the autocast of the caller for a type of device; None if it is disabled."""
    if not torch.is_autocast_enabled(device):
        return None
    return Autocast(torch.get_autocast_dtype(device), raises=device != "cpu")


def _to(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        casts = value.is_floating_point() and value.dtype not in (dtype, torch.float64)
        return value.to(dtype) if casts else value
    if isinstance(value, (list, tuple)):
        return type(value)(_to(part, dtype) for part in value)
    return value
