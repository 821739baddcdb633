"""The inputs and outputs of component calls; the inputs distinguish the calls."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

import numpy
import torch
from PIL.Image import Image

from diffprof.counting.operations.stand_in_values import real_zeros
from diffprof.counting.operations.tensors import dtype_text
from diffprof.record.tensors import TensorInput, TensorShape

PLAIN = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device, torch.Generator, Enum)


def leaves(value: Any) -> list[Any]:
    """All values in nested containers, in order."""
    if isinstance(value, Mapping):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def is_replayable(value: Any) -> bool:
    """Whether a call with these inputs may be replayed: not if one of them is an object that can keep state."""
    return all(isinstance(leaf, (torch.Tensor, *PLAIN)) for leaf in leaves(value))


def signature(value: Any) -> Any:
    """Return the shapes, dtypes and plain values that the cost of a call depends on."""
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.dtype)
    if isinstance(value, Mapping):
        return tuple((name, signature(part)) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(signature(part) for part in value)
    if isinstance(value, torch.Generator):
        return "generator"
    if isinstance(value, PLAIN):
        return (type(value), value)
    if isinstance(value, Image):
        return (Image, value.mode, value.size)
    if isinstance(value, numpy.ndarray):
        return (value.shape, value.dtype)
    # A method or a lambda is a new object in each call; only its code stays the same.
    return id(getattr(value, "__code__", value))


Copies = list[tuple[torch.Tensor, torch.Tensor]]
"""Virtual tensors, each with the copy that the pipeline gets."""


def with_real_zeros(value: Any, copies: Copies | None = None, inputs: Sequence[Any] = ()) -> Any:
    """Convert an output for the pipeline: small virtual tensors become writable zeros, and their containers are copied.

    Each virtual tensor and its copy are appended to `copies`. `inputs` that are returned unchanged are not copied.
    """
    return _Copier([] if copies is None else copies, {id(leaf) for leaf in inputs}).copy(value)


class _Copier:
    def __init__(self, copies: Copies, inputs: set[int]) -> None:
        self._copies = copies
        self._inputs = inputs

    def copy(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value) if value.is_meta and id(value) not in self._inputs else value
        if isinstance(value, Mapping):
            parts = {name: self.copy(part) for name, part in value.items()}
            return type(value)(**parts) if dataclasses.is_dataclass(value) else type(value)(parts)  # type: ignore[call-arg]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.copy, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.copy, value))
        if _holds_tensors(value):
            twin = copy.copy(value)
            for name, part in vars(value).items():
                twin.__dict__[name] = self.copy(part)
            return twin
        return value

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        with torch._C._DisableTorchDispatch():
            made = real_zeros(tensor)
        self._copies.append((tensor, made))
        return made


def _holds_tensors(value: Any) -> bool:
    """Whether it is a container of diffusers or transformers, such as a distribution or a cache; never a module."""
    library = type(value).__module__.split(".")[0]
    return (
        library in ("diffusers", "transformers")
        and hasattr(value, "__dict__")
        and not isinstance(value, torch.nn.Module)
    )


def tensor_inputs(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[TensorInput, ...]:
    """Return the arguments of a call that are or contain tensors, by the names of the function's parameters."""
    named = [*zip(parameter_names(function), args, strict=False), *kwargs.items()]
    inputs = [(name, [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]) for name, value in named]
    return tuple(
        TensorInput(name, tuple(TensorShape(tuple(tensor.shape), dtype_text(tensor)) for tensor in tensors))
        for name, tensors in inputs
        if tensors
    )


@cache
def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a method's parameters after the first, even if a decorator hides them."""
    function = inspect.unwrap(function)
    hidden = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    wrapped = [value for value in hidden if inspect.isfunction(value)]
    if inspect.signature(function).parameters.keys() == {"self", "args", "kwargs"} and len(wrapped) == 1:
        return parameter_names(wrapped[0])  # a decorator without `__wrapped__`
    return tuple(inspect.signature(function).parameters)[1:]


def output_sizes(output: Any) -> dict[str, int]:
    """Return height, width and frames of the image or video that a pipeline returned; empty for other outputs."""
    if type(output).__name__ == "PipelineState":
        output = modular_result(output)
    if isinstance(output, Mapping) and "audios" in output:
        return {}
    value: Any = output[0] if isinstance(output, tuple) else next(iter(output.values()), None) if output else None
    frames = None
    if isinstance(value, (list, tuple)) and value:
        if isinstance(value[0], (list, tuple)) and value[0]:
            frames, value = len(value[0]), value[0]
        value = value[0]
    if isinstance(value, Image):
        return _sizes(value.height, value.width, frames)
    shape: tuple[int, ...] = tuple(getattr(value, "shape", ()))
    if len(shape) < 3:
        return {}
    *batch, a, b, c = shape
    frames = batch[1] if len(batch) == 2 else frames
    if a in COLOURS:
        return _sizes(b, c, frames)
    return _sizes(a, b, frames) if c in COLOURS else {}


def _sizes(height: int, width: int, frames: int | None) -> dict[str, int]:
    return {"height": height, "width": width} | ({"num_frames": frames} if frames else {})


def modular_result(state: Any) -> tuple[Any, ...]:
    """Return the result of a modular pipeline from its final state."""
    return tuple(state.values[name] for name in RESULTS if state.values.get(name) is not None)[:1] or (None,)


RESULTS = ("videos", "video", "frames", "images", "image")
COLOURS = (1, 3)
"""Numbers of channels of an image; latents have others."""
