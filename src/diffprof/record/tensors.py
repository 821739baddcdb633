"""Tensors as a profile remembers them: names, shapes and dtypes, no values."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]
"""The size of each dimension; empty for a scalar."""


@dataclass(frozen=True, order=True)
class OperationShapes:
    """The shapes of the tensors that go into an operation, and of those that come out."""

    inputs: tuple[Shape, ...] = ()
    outputs: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class TensorShape:
    """The shape and the dtype of one tensor."""

    shape: Shape
    dtype: str | None = None
    """None where it was not recorded: files of version 1 do not have it."""


@dataclass(frozen=True)
class TensorInput:
    """An argument of a component call that is a tensor, or that holds several."""

    name: str
    tensors: tuple[TensorShape, ...]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(tensor.shape for tensor in self.tensors)
