"""Communication between the ranks of a distributed run: in a dry run its bytes are counted, and nothing is sent.

A rank that communicates waits for all others, which may not be in a dry run. Results of collectives have the right
shape; if the input has values, all ranks are assumed to have the same values.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from diffprof.counting.formulas import kinds
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.tensors import dtype_text
from diffprof.errors import UncountableError
from diffprof.pipelines.patching import Patches
from diffprof.record.executed_calls import ExecutedOp
from diffprof.record.tensors import OperationShapes

EAGER = (
    "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
    "gather", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
)  # fmt: skip
"""Functions of `torch.distributed` that wait for other ranks."""


def catch_collectives(patches: Patches, recorder: OperationRecorder) -> None:
    """Intercept collectives where they are called; only programs that have initialized `torch.distributed` use them."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    for name in EAGER:
        patches.function(distributed, name, functools.partial(_wrap_eager, recorder, name))
    functional: Any = sys.modules.get("torch.distributed._functional_collectives")
    if functional is not None:
        for name, shape in FUNCTIONAL.items():
            if hasattr(functional, name):
                patches.function(functional, name, functools.partial(_wrap_functional, recorder, name, shape))
    _refuse_uneven_parts(patches)


def _refuse_uneven_parts(patches: Patches) -> None:
    """Refuse unequal parts: with them, a rank learns only by communication how many tokens the others have."""
    sharder = getattr(sys.modules.get("diffusers.hooks.context_parallel"), "PartitionAnythingSharder", None)
    if sharder is None:  # not in use
        return
    original, thread = vars(sharder)["shard_anything"].__func__, threading.get_ident()

    def shard(owner: type, tensor: torch.Tensor, dim: int, mesh: Any) -> Any:
        tokens, ranks = tensor.shape[dim], mesh.size()
        if tokens % ranks and threading.get_ident() == thread:
            raise UncountableError(
                f"{tokens} tokens are split into {ranks} unequal parts, so a rank's work depends on the other ranks"
            )
        return original(owner, tensor, dim, mesh)

    patches.set(sharder, "shard_anything", classmethod(shard))


def _wrap_eager(recorder: OperationRecorder, name: str, original: Callable[..., Any]) -> Callable[..., None]:
    def communicate(*args: Any, **kwargs: Any) -> None:
        tensors = [value for value in _flatten((args, tuple(kwargs.values()))) if isinstance(value, torch.Tensor)]
        if tensors:
            # The outputs come first, one for each rank; the tensor to send comes last.
            add_collective(recorder, name, tensors[-1:], tensors[:-1] or tensors)
        if name in GATHERING and not any(tensor.is_meta for tensor in tensors):
            for output in tensors[:-1]:
                if output.shape == tensors[-1].shape:
                    output.copy_(tensors[-1])

    return communicate


GATHERING = ("all_gather", "gather")
"""Functions that fill one tensor for each rank."""


def _wrap_functional(
    recorder: OperationRecorder, name: str, shape: Callable[..., tuple[int, ...]], original: Callable[..., Any]
) -> Callable[..., Any]:
    def communicate(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        sizes = shape(tensor, *args, **kwargs)
        with torch._C._DisableTorchDispatch():
            result = torch.empty(sizes, dtype=tensor.dtype, device="meta")
            if recorder.open is not None:
                recorder.live.add(result)
        add_collective(recorder, name, [tensor], [result])
        if tensor.is_meta or sizes == tuple(tensor.shape):
            return result if tensor.is_meta else tensor
        repeats = [new // old for new, old in zip(sizes, tensor.shape, strict=True)]
        return tensor.repeat(repeats) if min(repeats) else tensor[: sizes[0]]

    return communicate


def add_collective(
    recorder: OperationRecorder, name: str, sent: list[torch.Tensor], received: list[torch.Tensor]
) -> None:
    """Count a collective: bytes that this rank sends are read, bytes that it receives are written."""
    shapes = OperationShapes(*(tuple(tuple(tensor.shape) for tensor in tensors) for tensors in (sent, received)))
    read, written = (sum(tensor.numel() * tensor.element_size() for tensor in tensors) for tensors in (sent, received))
    recorder.add(ExecutedOp(name, kinds.MOVEMENT, shapes, dtype_text(sent[0]), 0, 0, read, written))


def _flatten(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _flatten(part)] if isinstance(value, (list, tuple)) else [value]


def _group_size(group: Any) -> int:
    distributed: Any = sys.modules["torch.distributed"]
    if hasattr(group, "get_group"):
        group = group.get_group()
    elif isinstance(group, tuple):
        group = group[0].get_group(group[1])
    elif isinstance(group, (list, range)):
        return len(group)
    return int(distributed.get_world_size(group))


def _gathered_shape(tensor: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> tuple[int, ...]:
    sizes = list(tensor.shape)
    sizes[gather_dim] *= _group_size(group)
    return tuple(sizes)


def _scattered_shape(tensor: torch.Tensor, op: str, scatter_dim: int, group: Any, tag: str = "") -> tuple[int, ...]:
    sizes = list(tensor.shape)
    sizes[scatter_dim] //= _group_size(group)
    return tuple(sizes)


def _exchanged_shape(
    tensor: torch.Tensor, output_splits: Any, input_splits: Any, group: Any, tag: str = ""
) -> tuple[int, ...]:
    rows = tensor.shape[0] if output_splits is None else sum(output_splits)
    return (rows, *tensor.shape[1:])


def _same_shape(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[int, ...]:
    return tuple(tensor.shape)


FUNCTIONAL: dict[str, Callable[..., tuple[int, ...]]] = {
    "all_gather_tensor": _gathered_shape,
    "reduce_scatter_tensor": _scattered_shape,
    "all_to_all_single": _exchanged_shape,
    "all_reduce": _same_shape,
    "broadcast": _same_shape,
    "permute_tensor": _same_shape,
}
"""Functions of torch's functional collectives, with the shapes of their results."""
