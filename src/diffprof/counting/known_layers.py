"""Count layers of other libraries, whose kernels are not PyTorch operations, as what they compute.

| library | layer | counted as |
|---|---|---|
| nunchaku | `SVDQW4A4Linear` | the linear layer, and its two low-rank products |
| nunchaku | `AWQW4A16Linear` | the linear layer |
| Transformer Engine | `Linear` | the linear layer |
| Transformer Engine | `LayerNormLinear`, `LayerNormMLP` | the normalisation and the linear layers |
| Transformer Engine | `DotProductAttention` | attention |

The bytes that they read of their weights are those that they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F

from diffprof.counting.operations.recorder import OperationRecorder, executed_op

Compute = Callable[[OperationRecorder, Any, tuple[Any, ...], dict[str, Any]], Any]


def known_layer(owner: type) -> Compute | None:
    """Return how to count a layer of this class; None if its own code is run."""
    if owner not in _FOUND:
        _FOUND[owner] = _find(owner)
    return _FOUND[owner]


_FOUND: WeakKeyDictionary[type, Compute | None] = WeakKeyDictionary()


def _find(owner: type) -> Compute | None:
    for base in owner.__mro__:
        library = base.__module__.split(".")[0]
        compute = LAYERS.get((library, base.__name__))
        if compute is not None:
            return compute
    return None


@dataclass(frozen=True)
class _Product:
    """A linear layer with weights in a packed form."""

    inputs: int
    outputs: int
    held_bytes: int

    def apply(self, recorder: OperationRecorder, x: torch.Tensor) -> torch.Tensor:
        """Count the product of `x`; the result is virtual."""
        with torch._C._DisableTorchDispatch():
            weight = torch.empty((self.outputs, self.inputs), dtype=x.dtype, device="meta")
            inside = torch.empty(x.shape, dtype=x.dtype, device="meta")
            result = torch.empty((*x.shape[:-1], self.outputs), dtype=x.dtype, device="meta")
            op = executed_op(torch.ops.aten.linear.default, [inside, weight], (inside, weight, None), result)
            if recorder.open is not None:
                recorder.live.add(result)
        read = prod(x.shape) * x.element_size() + self.held_bytes
        recorder.add(replace(op, read_bytes=read))
        return result


def _held_bytes(module: torch.nn.Module, *without: str) -> int:
    named = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
    return sum(tensor.numel() * tensor.element_size() for name, tensor in named if name not in without)


def _linear(recorder: OperationRecorder, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first_input(args, kwargs)
    return _Product(module.in_features, module.out_features, _held_bytes(module)).apply(recorder, x)


def _svd_linear(recorder: OperationRecorder, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """y = x W + (x D) U: W in 4 bits, the branch of rank r in 16."""
    x, rank = _first_input(args, kwargs), int(module.rank)
    low_rank = ("proj_down", "proj_up")
    result = _Product(module.in_features, module.out_features, _held_bytes(module, *low_rank)).apply(recorder, x)
    if rank:
        element = x.element_size()
        down = _Product(module.in_features, rank, module.in_features * rank * element).apply(recorder, x)
        _Product(rank, module.out_features, rank * module.out_features * element).apply(recorder, down)
    return result


def _norm_linear(recorder: OperationRecorder, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first_input(args, kwargs)
    normal = F.layer_norm(x, (module.in_features,))
    return _Product(module.in_features, module.out_features, _held_bytes(module)).apply(recorder, normal)


def _norm_mlp(recorder: OperationRecorder, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x = _first_input(args, kwargs)
    hidden_size, size = module.fc2_weight.shape[-1], x.shape[-1]
    first, second = (weight.numel() * weight.element_size() for weight in (module.fc1_weight, module.fc2_weight))
    normal = F.layer_norm(x, (size,))
    hidden = F.gelu(_Product(size, module.fc1_weight.shape[0], first).apply(recorder, normal))
    return _Product(hidden_size, size, second).apply(recorder, hidden[..., :hidden_size])


def _attention(recorder: OperationRecorder, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Attention on [tokens, batch, heads, size] ("sbhd") or [batch, tokens, heads, size]; joins the output heads."""
    query, key, value = (*args, *(kwargs[f"{name}_layer"] for name in ("query", "key", "value")[len(args) :]))[:3]
    order = (1, 2, 0, 3) if getattr(module, "qkv_format", "sbhd") == "sbhd" else (0, 2, 1, 3)
    query, key, value = (tensor.permute(order) for tensor in (query, key, value))
    result = F.scaled_dot_product_attention(query, key, value, enable_gqa=query.shape[1] != key.shape[1])
    back = (2, 0, 1, 3) if order[0] else (0, 2, 1, 3)
    return result.permute(back).flatten(2)


def _first_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    x: torch.Tensor = args[0] if args else next(iter(kwargs.values()))
    return x


LAYERS: dict[tuple[str, str], Compute] = {
    ("nunchaku", "SVDQW4A4Linear"): _svd_linear,
    ("nunchaku", "AWQW4A16Linear"): _linear,
    ("transformer_engine", "Linear"): _linear,
    ("transformer_engine", "LayerNormLinear"): _norm_linear,
    ("transformer_engine", "LayerNormMLP"): _norm_mlp,
    ("transformer_engine", "DotProductAttention"): _attention,
}
"""By library and class name."""
