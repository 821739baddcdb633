"""Tensors in a profile: names, shapes and dtypes, without values."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]
"""The size of each dimension; empty for a scalar."""


@dataclass(frozen=True, order=True)
class OperationShapes:
    """The shapes of the inputs and outputs of an operation."""

    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class TensorShape:
    """The shape and the dtype of one tensor."""

    shape: Shape
    dtype: str | None = None
    """None if it was not recorded, as in files of version 1."""


@dataclass(frozen=True)
class TensorInput:
    """An argument of a component call that is a tensor or contains several."""

    name: str
    tensors: tuple[TensorShape, ...]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(tensor.shape for tensor in self.tensors)
