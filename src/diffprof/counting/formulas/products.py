"""MACs of matrix products, convolutions and attention, as exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from diffprof.counting.formulas.kinds import ATTENTION, CONVOLUTION, LINEAR, MATMUL, PER_ELEMENT, OperationCost


def mm(arguments: Sequence[Any], result: Any) -> OperationCost:
    """[m, k] x [k, n]: m·k·n."""
    a, b = arguments[0], arguments[1]
    return OperationCost(MATMUL, a.shape[0] * a.shape[1] * b.shape[1])


def addmm(arguments: Sequence[Any], result: Any) -> OperationCost:
    """As `mm`, plus one FLOP per output element for the added matrix."""
    a, b = arguments[1], arguments[2]
    return OperationCost(MATMUL, a.shape[0] * a.shape[1] * b.shape[1], result.numel())


def bmm(arguments: Sequence[Any], result: Any) -> OperationCost:
    a, b = arguments[0], arguments[1]
    return OperationCost(MATMUL, a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2])


def baddbmm(arguments: Sequence[Any], result: Any) -> OperationCost:
    a, b = arguments[1], arguments[2]
    return OperationCost(MATMUL, a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2], result.numel())


def addbmm(arguments: Sequence[Any], result: Any) -> OperationCost:
    a, b = arguments[1], arguments[2]
    macs = a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2]
    return OperationCost(MATMUL, macs, result.numel())


def mv(arguments: Sequence[Any], result: Any) -> OperationCost:
    return OperationCost(MATMUL, arguments[0].numel())


def addmv(arguments: Sequence[Any], result: Any) -> OperationCost:
    return OperationCost(MATMUL, arguments[1].numel(), result.numel())


def dot(arguments: Sequence[Any], result: Any) -> OperationCost:
    return OperationCost(MATMUL, arguments[0].numel())


def addr(arguments: Sequence[Any], result: Any) -> OperationCost:
    return OperationCost(MATMUL, result.numel(), result.numel())


def grouped_mm(arguments: Sequence[Any], result: Any) -> OperationCost:
    """Every row of the output is a row of the input times one of the matrices: rows·k·n."""
    a, b = arguments[0], arguments[1]
    inner = a.shape[-1]
    if a.dim() == 2 and b.dim() == 2:  # the groups are along the inner dimension
        return OperationCost(MATMUL, a.shape[0] * inner * b.shape[-1])
    return OperationCost(MATMUL, result.numel() * inner)


def linear(arguments: Sequence[Any], result: Any) -> OperationCost:
    """x [..., in] times weight [out, in]: one MAC per output element and input feature; the bias adds a FLOP each."""
    weight = arguments[1]
    bias = arguments[2] if len(arguments) > 2 else None
    return OperationCost(LINEAR, result.numel() * weight.shape[-1], result.numel() if bias is not None else 0)


def convolution(arguments: Sequence[Any], result: Any) -> OperationCost:
    """Each output element gathers kernel·(channels in / groups); transposed, each input element scatters likewise."""
    x, weight, bias = arguments[0], arguments[1], arguments[2]
    transposed = bool(arguments[6])
    out = result[0] if isinstance(result, (list, tuple)) else result
    per_element = prod(weight.shape[1:])  # [out, in/groups, *kernel], transposed [in, out/groups, *kernel]
    macs = (x.numel() if transposed else out.numel()) * per_element
    return OperationCost(CONVOLUTION, macs, out.numel() if bias is not None else 0)


def convolution_backward(arguments: Sequence[Any], result: Any) -> OperationCost:
    """The gradient of the input and that of the weight each repeat the convolution's products."""
    gradient, x, weight = arguments[0], arguments[1], arguments[2]
    transposed, mask = bool(arguments[7]), arguments[10]
    macs = (x.numel() if transposed else gradient.numel()) * prod(weight.shape[1:])
    return OperationCost(CONVOLUTION, macs * (int(mask[0]) + int(mask[1])), gradient.numel() if mask[2] else 0)


@dataclass(frozen=True)
class AttentionShape:
    """B batches, H query heads, N_q query tokens, N_k key tokens, D head size, D_v value size."""

    batch: int
    heads: int
    key_heads: int
    query_tokens: int
    key_tokens: int
    head_size: int
    value_size: int

    @property
    def qk_macs(self) -> int:
        return self.batch * self.heads * self.query_tokens * self.key_tokens * self.head_size

    @property
    def av_macs(self) -> int:
        return self.batch * self.heads * self.query_tokens * self.key_tokens * self.value_size

    def softmax_flops(self, scaled: bool = True) -> int:
        """FLOPs of the softmax of all scores, including their scaling if the same kernel does it."""
        each = PER_ELEMENT["softmax"] + int(scaled)
        return self.batch * self.heads * self.query_tokens * self.key_tokens * each


def attention_shape(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> AttentionShape:
    """Return the attention shape of tensors [..., heads, tokens, size], as `scaled_dot_product_attention` takes them.

    The product covers all of N_q x N_k, even under a causal or other mask: dense kernels compute that, and the count
    does not depend on the kernel. Grouped-query attention repeats the fewer key heads.
    """
    batch = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    return AttentionShape(
        batch=prod(batch),
        heads=query.shape[-3] if query.dim() > 2 else 1,
        key_heads=key.shape[-3] if key.dim() > 2 else 1,
        query_tokens=query.shape[-2],
        key_tokens=key.shape[-2],
        head_size=query.shape[-1],
        value_size=value.shape[-1],
    )


def attention(arguments: Sequence[Any], result: Any) -> OperationCost:
    shape = attention_shape(arguments[0], arguments[1], arguments[2])
    return OperationCost(ATTENTION, shape.qk_macs + shape.av_macs, shape.softmax_flops())
