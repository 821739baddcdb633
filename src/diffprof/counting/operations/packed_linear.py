"""A linear layer with a packed weight: the products of the original layer, and the bytes that are really read.

The operations depend on the library and are described by `PackedWeight`:

- ``linear`` reads the packed weight, its scales and tables, and never the bytes of an unpacked weight.
- If the weight is unpacked first, ``unpack_weight`` writes the copies and includes reading them; they are live until
  the product is done.
- If the product is computed in int8 or float8, ``quantize_input`` comes before it and ``rescale_output`` after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from diffprof.counting.formulas import kinds
from diffprof.counting.formulas.registry import call_on_change
from diffprof.counting.operations.recorder import executed_op
from diffprof.counting.operations.tensors import dtype_text, tensors_in
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.pipelines.packing.packed_weights import PackedWeight
from diffprof.record.executed_calls import ExecutedOp
from diffprof.record.tensors import OperationShapes

SCALE_BYTES = 4
"""Bytes of the scale for each row of a quantized input."""


def packed_linear(
    mode: VirtualMode,
    x: torch.Tensor,
    packed: PackedWeight,
    bias: torch.Tensor | None,
    compute_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Count the layer and return its virtual result; inputs are cast to `compute_dtype` and the result is cast back."""
    given_dtype = x.dtype
    if compute_dtype is not None and compute_dtype != given_dtype:
        x = x.to(compute_dtype)
    key = (x.shape, x.dtype, packed, None if bias is None else bias.dtype)
    plan = _PLANS.get(key)
    if plan is None:
        with torch._C._DisableTorchDispatch():
            plan = _PLANS[key] = _plan(x, packed, bias)
    with torch._C._DisableTorchDispatch():
        result = _execute(mode, plan)
    return result if result.dtype == given_dtype else result.to(given_dtype)


@dataclass(frozen=True)
class _Plan:
    """The operations of one layer for one shape, and their temporary tensors."""

    quantize: ExecutedOp | None
    unpack: ExecutedOp | None
    product: ExecutedOp
    rescale: ExecutedOp | None
    input_copy: tuple[tuple[int, ...], torch.dtype] | None
    copies: tuple[tuple[tuple[int, ...], torch.dtype], ...]
    result_shape: tuple[int, ...]
    product_dtype: torch.dtype
    result_dtype: torch.dtype


_PLANS: dict[Any, _Plan] = {}
call_on_change(_PLANS.clear)


def _execute(mode: VirtualMode, plan: _Plan) -> torch.Tensor:
    def make(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        tensor = torch.empty(shape, dtype=dtype, device="meta")
        mode.recorder.live.add(tensor)
        return tensor

    recorder = mode.recorder
    alive: list[torch.Tensor] = []
    if plan.quantize is not None and plan.input_copy is not None:
        alive.append(make(*plan.input_copy))
        recorder.add(plan.quantize)
    copy: torch.Tensor | None = None
    for shape, dtype in plan.copies:
        copy = make(shape, dtype)  # the previous copy is live until this one is written
    if plan.unpack is not None:
        recorder.add(plan.unpack)
    result = make(plan.result_shape, plan.product_dtype)
    recorder.add(plan.product)
    del copy
    alive.clear()
    if plan.rescale is not None:
        result = make(plan.result_shape, plan.result_dtype)
        recorder.add(plan.rescale)
    return result


def _plan(x: torch.Tensor, packed: PackedWeight, bias: torch.Tensor | None) -> _Plan:
    rows = x.numel() // max(x.shape[-1], 1)
    shape = (*x.shape[:-1], packed.shape[0])
    accumulated = torch.int32 if packed.product_dtype == torch.int8 else x.dtype
    copies = tuple((packed.shape, dtype or x.dtype) for dtype in packed.copies) if rows > packed.fused_rows else ()
    return _Plan(
        quantize=_quantize_op(x, rows, packed.input_dtype) if packed.input_dtype else None,
        unpack=_unpack_op(packed, copies) if copies else None,
        product=_product_op(x, packed, bias, shape, accumulated),
        rescale=_rescale_op(shape, x.dtype) if accumulated != x.dtype else None,
        input_copy=(tuple(x.shape), packed.input_dtype) if packed.input_dtype else None,
        copies=copies,
        result_shape=shape,
        product_dtype=accumulated,
        result_dtype=x.dtype,
    )


def _quantize_op(x: torch.Tensor, rows: int, dtype: torch.dtype) -> ExecutedOp:
    """Two FLOPs per element: searching the maximum of the row, and scaling."""
    written = x.numel() * dtype.itemsize + rows * SCALE_BYTES
    return _op("quantize_input", tuple(x.shape), tuple(x.shape), dtype, 2 * x.numel(), x.nbytes, written)


def _unpack_op(packed: PackedWeight, copies: tuple[tuple[tuple[int, ...], torch.dtype], ...]) -> ExecutedOp:
    """Reading the unpacked copies is counted here, and the product itself reads the packed weight."""
    moved = sum(packed.elements * dtype.itemsize for _, dtype in copies)
    flops = packed.unpacking_flops * packed.elements
    return _op("unpack_weight", packed.shape, packed.shape, copies[-1][1], flops, moved, moved)


def _rescale_op(shape: tuple[int, ...], dtype: torch.dtype) -> ExecutedOp:
    """Two FLOPs per element: the scales of its row and of its column."""
    elements = torch.Size(shape).numel()
    return _op("rescale_output", shape, shape, dtype, 2 * elements, elements * 4, elements * dtype.itemsize)


def _op(
    name: str, read: tuple[int, ...], written: tuple[int, ...], dtype: torch.dtype, flops: int, *moved: int
) -> ExecutedOp:
    text = str(dtype).removeprefix("torch.")
    return ExecutedOp(name, kinds.ELEMENTWISE, OperationShapes((read,), (written,)), text, 0, flops, *moved)


def _product_op(
    x: torch.Tensor, packed: PackedWeight, bias: torch.Tensor | None, shape: tuple[int, ...], accumulated: torch.dtype
) -> ExecutedOp:
    """The linear layer of the packed weight, with the bytes of the packed weight."""
    source = x if packed.input_dtype is None else torch.empty(x.shape, dtype=packed.input_dtype, device="meta")
    dense = torch.empty(packed.shape, dtype=x.dtype, device="meta")
    result = torch.empty(shape, dtype=accumulated, device="meta")
    op = executed_op(torch.ops.aten.linear.default, tensors_in((source, dense, bias)), (source, dense, bias), result)
    computed_in = str(packed.product_dtype).removeprefix("torch.") if packed.product_dtype else dtype_text(result)
    return replace(op, dtype=computed_in, read_bytes=op.read_bytes - dense.nbytes + packed.stored_bytes)
