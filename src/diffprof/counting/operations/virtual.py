"""Virtual tensors: shapes and dtypes without data, mixed freely with small real tensors.

A virtual tensor is on the meta device, or is a weight of a live pipeline (`VirtualMode.weights`). The rules:

- An operation with a virtual input has a virtual output. Nothing is computed; the shape of the result is inferred once
  for each operation and input shape.
- An operation on real inputs runs for real, so that masks, token ids, timesteps and `.item()` keep their values.
- A factory or copy on the meta device (because `x.device` was meta) gives a real tensor if it is small.
- An operation that needs the values of a virtual tensor gets zeros, and the recorder notes the assumption.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from diffprof.counting.formulas import kinds
from diffprof.counting.formulas import table as formulas
from diffprof.counting.formulas.registry import call_on_change
from diffprof.counting.operations.growth import grows, spreads
from diffprof.counting.operations.recorder import OperationRecorder, executed_op
from diffprof.counting.operations.shape_inference import as_meta, infer, on_meta
from diffprof.counting.operations.stand_in_values import (
    LARGEST_REAL,
    empty_virtual,
    stand_in,
    stand_in_word,
)
from diffprof.counting.operations.tensors import signature_of, tensors_in
from diffprof.counting.operations.unfused_attention import ATTENTION_OPERATIONS
from diffprof.record.executed_calls import ExecutedOp
from diffprof.record.tensors import OperationShapes

aten = torch.ops.aten

CACHE_LIMIT = 200_000
"""The most operations and shapes to remember across the dry runs of a process."""


class VirtualMode(TorchDispatchMode):
    """Runs code on virtual tensors and reports every operation to the recorder."""

    def __init__(
        self,
        recorder: OperationRecorder,
        weights: frozenset[int] = frozenset(),
        on_accelerator: bool = False,
        large_values: bool = False,
    ) -> None:
        super().__init__()
        self.recorder = recorder
        self.weights = weights
        """`id`s of real tensors of which only the shape is used."""
        self._on_accelerator = on_accelerator
        """Whether inputs and tables of the pipeline may be on an accelerator; real results are on the host."""
        self.linear_layers: dict[Any, ExecutedOp] = {}
        """By shapes and dtypes, and only for this dry run, so that it does not depend on earlier ones."""
        self.large_values = large_values
        """Whether code that reads values of virtual tensors gets large values and true, instead of zeros and false."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in a dry run, and guarding every operation would cost more than the rest

    def is_virtual(self, tensor: torch.Tensor) -> bool:
        return tensor.is_meta or id(tensor) in self.weights

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self._on_accelerator:
            args, kwargs = self._fetch(args), self._fetch(kwargs or {})
        return handler_for(func)(self, func, args, kwargs or {})

    def _fetch(self, value: Any) -> Any:
        """Replace all real tensors on other devices by copies in main memory."""
        if isinstance(value, torch.Tensor):
            return value if value.is_cpu or self.is_virtual(value) else value.cpu()
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._fetch, value))
        if isinstance(value, dict):
            return {name: self._fetch(part) for name, part in value.items()}
        return value


Handler = Callable[[VirtualMode, Any, tuple[Any, ...], dict[str, Any]], Any]


@cache
def handler_for(func: Any) -> Handler:
    """Return how to execute an operation if some of its inputs may be virtual."""
    name = formulas.plain_name(func)
    if is_composite(func):
        return _decompose
    if name in ("_to_copy", "_pin_memory"):
        return _copy
    if name in KNOWN_VALUE_FACTORIES:
        return _known_values_like
    if name in ("index", "index_put", "_index_put_impl", "_unsafe_index"):
        return _index
    if name == "topk":
        return _topk
    tags = func.tags
    if torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags or name in READS_VALUES:
        return _needs_values
    if torch.Tag.inplace_view in tags or formulas.is_view(func):
        return _view
    if not any("Tensor" in str(argument.type) for argument in func._schema.arguments):
        return _factory
    if func._schema.is_mutable:
        return _in_place
    return _run_ordinary


KNOWN_VALUE_FACTORIES = frozenset({"zeros_like", "ones_like", "full_like", "empty_like"}) | frozenset(
    {"new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided"}
)
READS_VALUES = frozenset({"bincount", "_unique2", "unique_dim", "unique_consecutive", "repeat_interleave"})


def _decompose(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Decompose a composite operation, which arrives whole in `torch.inference_mode`, to count its parts."""
    with mode:
        return run_decomposed(func, args, kwargs)


@cache
def is_composite(func: Any) -> bool:
    """Whether the operation is composed of others in C++. (Python's decompositions are for compilers.)"""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def run_decomposed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)


def _run_ordinary(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = tensors_in(args)
    if kwargs:
        tensors += tensors_in(tuple(kwargs.values()))
    if not any(map(mode.is_virtual, tensors)) and not grows(func, args, tensors, mode.recorder.open is not None):
        return _run_real(mode, func, args, kwargs, tensors)
    key = (func, signature_of(args), signature_of(tuple(kwargs.items())) if kwargs else None)
    known = _INFERRED.get(key)
    if known is None:
        known = infer(func, args, kwargs, tensors)
        if len(_INFERRED) > CACHE_LIMIT:
            _INFERRED.clear()
        _INFERRED[key] = known
    op, make = known
    recorder = mode.recorder
    recorder.add(op)
    result = make()
    live = recorder.live
    for output in result if isinstance(result, (list, tuple)) else (result,):
        if output is not None:
            live.add(output)
    if op.kind == kinds.CONVOLUTION:
        recorder.note_workspace(op)
    if op.name in ATTENTION_OPERATIONS:
        recorder.watch(op, args, result)
    return result


_INFERRED: dict[Any, tuple[ExecutedOp, Callable[[], Any]]] = {}


def _run_real(
    mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]
) -> Any:
    result = func(_in_memory_order(args[0])) if func in EXTREMES else func(*args, **kwargs)
    if func._schema.is_mutable:
        mode.recorder.note_effect()
    else:
        mode.recorder.live.add_result(result)
    # The cost of an elementwise operation depends only on its tensors; schedulers execute many of them.
    mode.recorder.add(_op_of(func, tensors, args, result, tensors if spreads(func) else args))
    mode.recorder.propagate(tensors, result)
    return result


def _op_of(
    func: Any, tensors: list[torch.Tensor], args: tuple[Any, ...], result: Any, depends_on: Any = None
) -> ExecutedOp:
    """Return the operation to record; the same object for every equal execution."""
    key = (func, signature_of((args, tensors) if depends_on is None else depends_on), signature_of(result))
    op = _REAL_OPS.get(key)
    if op is None:
        if len(_REAL_OPS) > CACHE_LIMIT:
            _REAL_OPS.clear()
        op = _REAL_OPS[key] = executed_op(func, tensors, args, result)
    return op


EXTREMES = frozenset({aten.min.default, aten.max.default})
"""These return one number, for which torch copies a non-contiguous tensor, such as a video of a gigabyte."""


def _in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(sorted(range(tensor.dim()), key=lambda dim: tensor.stride()[dim], reverse=True))


_REAL_OPS: dict[Any, ExecutedOp] = {}
call_on_change(_INFERRED.clear)
call_on_change(_REAL_OPS.clear)


def _view(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Create a view of the tensor itself, which shares its storage and costs nothing."""
    tensors = tensors_in(args)
    if tensors and id(tensors[0]) in mode.weights:
        args = as_meta(args)
    result = func(*args, **kwargs)
    if func._schema.is_mutable:
        mode.recorder.note_effect()
    mode.recorder.add(view_of(func))
    mode.recorder.propagate(tensors, result)
    return result


@cache
def view_of(func: Any) -> ExecutedOp:
    return ExecutedOp(formulas.plain_name(func), kinds.MOVEMENT, OperationShapes(), "", 0, 0, 0, 0)


def _in_place(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Execute nothing: shapes stay the same, and a real target keeps its values."""
    tensors = tensors_in(args) + tensors_in(tuple(kwargs.values()))
    if not any(map(mode.is_virtual, tensors)):
        return _run_real(mode, func, args, kwargs, tensors)
    target = kwargs.get("out", args[0] if args else None)
    mode.recorder.add(_op_of(func, tensors, args, target))
    return target if func._schema.returns else None


def _factory(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Create a tensor from no other: real if it is small, virtual if it is large, on any device."""
    if all(argument.name != "device" for argument in func._schema.arguments):
        return func(*args, **kwargs)
    generator = kwargs.get("generator")
    on_meta = {name: value for name, value in kwargs.items() if name != "pin_memory"}
    on_meta |= {"device": torch.device("meta")} | ({"generator": None} if "generator" in kwargs else {})
    result = func(*args, **on_meta)
    if result.numel() <= LARGEST_REAL:
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "meta":
            kwargs = {**kwargs, "device": generator.device if generator is not None else torch.device("cpu")}
        result = func(*args, **kwargs)
    mode.recorder.live.add(result)
    mode.recorder.add(_op_of(func, [], args, result))
    return result


def _known_values_like(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Create a tensor like another one, with known values; a small one is real, and `empty` becomes zeros.

    If it is far larger than a real original, it is virtual: black frames after the first one of a video take gigabytes.
    """
    like = args[0]
    result = on_meta(func, args, kwargs)
    tensors = [] if mode.is_virtual(like) else [like]
    if tensors and result.numel() <= max(LARGEST_REAL, like.numel()):
        return _run_real(mode, func, args, kwargs, tensors)
    if result.numel() <= LARGEST_REAL:
        value = (
            0 if len(args) < 2 or "full" not in func.overloadpacket.__name__ else args[2 if "new" in str(func) else 1]
        )
        if "ones" in func.overloadpacket.__name__:
            value = 1
        result = torch.full(result.shape, value, dtype=result.dtype)
    mode.recorder.live.add(result)
    mode.recorder.add(_op_of(func, tensors, args, result))
    return result


def _copy(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copy between dtypes and devices: real stays real (unless it is large and goes to meta), virtual stays virtual."""
    source = args[0]
    device = kwargs.get("device")
    to_meta = device is not None and torch.device(device).type == "meta"
    large = (to_meta and source.numel() > LARGEST_REAL) or grows(func, args, (source,))
    to_there = kwargs.get("dtype", source.dtype) == source.dtype and kwargs.get("memory_format") is None
    if to_there and (to_meta if not source.is_meta else device is not None):
        # On a single device, nothing is copied, and no operation is executed.
        if large and not source.is_meta:
            return empty_virtual(source.shape, source.stride(), source.dtype)
        result = aten.alias.default(source)
        mode.recorder.propagate([source], result)
        return result
    if not mode.is_virtual(source) and not large:
        if to_meta:
            kwargs = {**kwargs, "device": source.device}
        return _run_real(mode, func, args, kwargs, [source])
    kwargs = {name: value for name, value in kwargs.items() if name not in ("device", "pin_memory")}
    return _run_ordinary(mode, func, (source if source.is_meta else as_meta(source),), kwargs)


def _index(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Index with a boolean mask, which determines the shape: a real one by its values, a virtual one as all true."""
    tensors = tensors_in(args)
    if not any(map(mode.is_virtual, tensors)):
        mode.recorder.mark_read([index for index in args[1] if index is not None and index.dtype == torch.bool])
        return _run_real(mode, func, args, kwargs, tensors)
    indices: list[torch.Tensor | None] = []
    for index in args[1]:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            indices.append(index)
        elif mode.is_virtual(index):
            mode.recorder.assume(f"a mask of shape {tuple(index.shape)} that depends on weights selects every element")
            indices += torch.ones(index.shape, dtype=torch.bool).nonzero().unbind(1)
        else:
            mode.recorder.mark_read([index])
            indices += index.nonzero().unbind(1)
    args = (args[0], indices, *args[2:])
    return (_in_place if func._schema.is_mutable else _run_ordinary)(mode, func, args, kwargs)


def _topk(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Give every expert an equal share of the tokens, in turn, because the choice depends on weights."""
    result = _run_ordinary(mode, func, args, kwargs)
    if not mode.is_virtual(args[0]):
        return result
    values, indices = result
    if indices.numel() > LARGEST_REAL or indices.dim() == 0:
        return result
    dim = args[2] if len(args) > 2 else -1
    choices = args[0].shape[dim]
    mode.recorder.assume(f"a choice of {args[1]} out of {choices} that depends on weights falls on all equally often")
    rows = torch.arange(indices.numel()) % choices
    order = [d for d in range(indices.dim()) if d != dim % indices.dim()] + [dim % indices.dim()]
    chosen = rows.reshape([indices.shape[d] for d in order]).permute([order.index(d) for d in range(indices.dim())])
    return type(result)((values, chosen)) if isinstance(result, list) else (values, chosen)


def _needs_values(mode: VirtualMode, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Execute an operation that depends on values; virtual tensors are zeros here, virtual masks true."""
    tensors = tensors_in(args) + tensors_in(tuple(kwargs.values()))
    virtual = [tensor for tensor in tensors if mode.is_virtual(tensor)]
    if not virtual:
        mode.recorder.mark_read(tensors)
        return _run_real(mode, func, args, kwargs, tensors)
    shapes = ", ".join(str(tuple(tensor.shape)) for tensor in virtual)
    word = stand_in_word(virtual[0], mode.large_values)
    mode.recorder.assume(f"{formulas.plain_name(func)} reads values {shapes} that depend on weights: taken as {word}")
    args = _as_real(mode, args)
    result = func(*args, **{name: _as_real(mode, value) for name, value in kwargs.items()})
    mode.recorder.live.add_result(result)
    mode.recorder.add(_op_of(func, tensors, args, result))
    return result


def _as_real(mode: VirtualMode, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return stand_in(value, mode.large_values) if mode.is_virtual(value) else value
    if isinstance(value, (list, tuple)):
        return type(value)(_as_real(mode, part) for part in value)
    return value
