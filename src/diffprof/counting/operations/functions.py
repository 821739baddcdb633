"""Intercept functions where they are called: attention, before it decomposes, and what never reaches the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from diffprof.counting.formulas.products import AttentionShape, attention_shape
from diffprof.counting.formulas.registry import call_on_change
from diffprof.counting.operations.packed_linear import packed_linear
from diffprof.counting.operations.recorder import OperationRecorder, executed_op
from diffprof.counting.operations.stand_in_values import stand_in, stand_in_word
from diffprof.counting.operations.tensors import signature_of, tensors_in
from diffprof.counting.operations.virtual import VirtualMode, view_of
from diffprof.pipelines.packing.packed_weights import packed_weight
from diffprof.record.executed_calls import ExecutedOp


class FunctionMode(TorchFunctionMode):
    """Handles whole functions on virtual tensors; passes everything else to the dispatcher."""

    def __init__(self, mode: VirtualMode) -> None:
        super().__init__()
        self.mode = mode

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        handler = HANDLERS.get(func)
        if self.mode.recorder.autocast is not None:
            args, kwargs = self.mode.recorder.autocast.cast(func, args, kwargs or {})
        if kwargs and ("device" in kwargs or "generator" in kwargs):
            kwargs = _redirect_to_host(kwargs)
        elif func in MOVES:
            func, args = _keep_on_host(func, args)
        if handler is None:
            return func(*args, **kwargs) if kwargs else func(*args)
        return handler(self.mode, func, args, kwargs or {})


def _redirect_to_host(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Create on the CPU what the code requests on an accelerator; all real tensors of a dry run are there."""
    if is_accelerator(kwargs.get("device")):
        kwargs = {**kwargs, "device": HOST}
    generator = kwargs.get("generator")
    if isinstance(generator, torch.Generator) and is_accelerator(generator.device):
        kwargs = {**kwargs, "generator": None}  # the numbers do not matter, and its state is kept
    return kwargs


def _keep_on_host(func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Leave a tensor where it is instead of moving it to an accelerator."""
    if func in TO_ACCELERATOR:
        return torch.Tensor.cpu, args[:1]
    return func, tuple(HOST if _is_device(part) and is_accelerator(part) else part for part in args)


def _is_device(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) or (isinstance(value, int) and not isinstance(value, bool))


def is_accelerator(device: Any) -> bool:
    """Whether it is neither the CPU nor the device of virtual tensors."""
    if device is None:
        return False
    kind = device.type if isinstance(device, torch.device) else str(device).partition(":")[0]
    return kind not in ("cpu", "meta")


HOST = torch.device("cpu")
TO_ACCELERATOR = frozenset({torch.Tensor.cuda, torch.Tensor.xpu})
MOVES = TO_ACCELERATOR | {torch.Tensor.to}


def virtual_attention(
    recorder: OperationRecorder, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Any, causal: bool
) -> torch.Tensor:
    """Count attention of tensors [..., heads, tokens, size]; the result has the memory layout of fused kernels."""
    if recorder.autocast is not None:
        query, key, value = recorder.autocast.lower((query, key, value))
    masked = mask is not None
    key_of_shape = (signature_of((query, key, value)), masked)
    known = _ATTENTION.get(key_of_shape)
    if known is None:
        shape = attention_shape(query, key, value)
        batch = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
        result_shape = (*batch, *query.shape[-3:-1], value.shape[-1])
        with torch._C._DisableTorchDispatch():  # the pipeline did not create this tensor
            result = torch.empty(result_shape, dtype=value.dtype, device="meta")
        op = executed_op(_SDPA, [query, key, value], (query, key, value), result, "scaled_dot_product_attention")
        known = _ATTENTION[key_of_shape] = (op, shape, result_shape)
    op, shape, result_shape = known
    recorder.add(op)
    recorder.add_attention(shape, causal, masked)
    bias = _bias_of(recorder, mask, query.dtype)
    result = _attention_result(recorder, result_shape, value.dtype)
    recorder.note_workspace(op, masked)
    del bias
    return result


def _bias_of(recorder: OperationRecorder, mask: Any, dtype: torch.dtype) -> torch.Tensor | None:
    """Count the temporary tensor into which PyTorch converts a boolean mask."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        return None
    with torch._C._DisableTorchDispatch():
        bias = torch.empty(mask.shape, dtype=dtype, device="meta")
        recorder.live.add(bias)
    return bias


_SDPA = torch.ops.aten.scaled_dot_product_attention.default
_ATTENTION: dict[Any, tuple[ExecutedOp, AttentionShape, tuple[int, ...]]] = {}
call_on_change(_ATTENTION.clear)


def _attention_result(recorder: OperationRecorder, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():
        if len(shape) < 4:
            result = torch.empty(shape, dtype=dtype, device="meta")
        else:
            *batch, heads, tokens, size = shape
            result = torch.empty((*batch, tokens, heads, size), dtype=dtype, device="meta").transpose(-2, -3)
        recorder.live.add(result)
    return result


def _scaled_dot_product_attention(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    query, key, value, mask, causal = _attention_arguments(*args, **kwargs)
    if _needs_graph(query, key, value) or not any(map(mode.is_virtual, (query, key, value))):
        return func(*args, **kwargs)
    return virtual_attention(mode.recorder, query, key, value, mask, causal)


def _attention_arguments(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, **_: Any
) -> tuple[Any, Any, Any, Any, bool]:
    return query, key, value, attn_mask, is_causal


def _linear(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, weight, bias = _linear_arguments(*args, **kwargs)
    if not (mode.is_virtual(x) or mode.is_virtual(weight)) or _needs_graph(x, weight):
        return func(*args, **kwargs)
    if x.dim() < 1 or x.shape[-1] != weight.shape[-1]:
        return func(*args, **kwargs)  # PyTorch raises the right error
    packed = packed_weight(weight)
    if packed is not None:
        return packed_linear(mode, x, packed, bias)
    key = (x.shape, x.dtype, weight.shape, weight.dtype, bias is None)
    op = mode.linear_layers.get(key)
    with torch._C._DisableTorchDispatch():
        result = torch.empty((*x.shape[:-1], *weight.shape[:-1]), dtype=x.dtype, device="meta")
        if op is None:
            tensors = tensors_in((x, weight, bias))
            op = executed_op(torch.ops.aten.linear.default, tensors, (x, weight, bias), result)
            mode.linear_layers[key] = op
        mode.recorder.live.add(result)
    mode.recorder.add(op)
    return result


def _linear_arguments(input: Any, weight: Any, bias: Any = None) -> tuple[Any, Any, Any]:
    return input, weight, bias


def _needs_graph(*tensors: torch.Tensor) -> bool:
    """Whether gradients will be computed, so that the operation must reach autograd."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _numpy(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    if not mode.is_virtual(tensor):
        mode.recorder.mark_read([tensor])
        is_image = mode.recorder.open is None and tensor.dim() >= IMAGE_DIMS and tensor.is_floating_point()
        if not is_image:
            return func(*args, **kwargs)
    elif mode.recorder.open is not None:
        shape, word = tuple(tensor.shape), stand_in_word(tensor, mode.large_values)
        mode.recorder.assume(f"values {shape} that depend on weights are read as an array: taken as {word}")
    # The array of a large virtual image is not in its memory. Nor is that of a small one, so that the count does not
    # depend on the size.
    mode.recorder.add(view_of(torch.ops.aten.detach.default))
    with torch._C._DisableTorchDispatch():  # the stand-in is not an operation of the pipeline
        values = stand_in(tensor, mode.large_values) if mode.is_virtual(tensor) else tensor.detach().clone()
        return func(values, *args[1:], **kwargs)


IMAGE_DIMS = 3


def _cdist(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Handle distances directly: PyTorch requires both tensors on one device before it dispatches."""
    first, second, *others = args
    if mode.is_virtual(first) != mode.is_virtual(second):
        with torch._C._DisableTorchDispatch():
            first, second = (torch.empty_like(tensor, device="meta") for tensor in (first, second))
    return func(first, second, *others, **kwargs)


HANDLERS: dict[Any, Callable[[VirtualMode, Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    F.scaled_dot_product_attention: _scaled_dot_product_attention,
    F.linear: _linear,
    torch.cdist: _cdist,
    torch.Tensor.numpy: _numpy,
    torch.Tensor.tolist: _numpy,
    torch.Tensor.__array__: _numpy,
}
