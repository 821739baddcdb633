"""Shapes as people read them."""

from __future__ import annotations

import pytest

from diffprof.record.tensors import OperationShapes, TensorInput, TensorShape
from diffprof.render.shapes import inputs_text, shape_text, shapes_text


def tensors(*shapes: tuple[int, ...]) -> tuple[TensorShape, ...]:
    return tuple(TensorShape(shape, "float16") for shape in shapes)


@pytest.mark.parametrize(
    ("shape", "text"), [((2, 4, 64, 64), "2x4x64x64"), ((7,), "7"), ((0, 3), "0x3"), ((), "scalar")]
)
def test_a_shape_is_its_sizes_and_a_scalar_is_called_so(shape: tuple[int, ...], text: str) -> None:
    assert shape_text(shape) == text


def test_inputs_have_names_and_of_many_tensors_only_four_are_shown() -> None:
    inputs = (
        TensorInput("sample", tensors((2, 4))),
        TensorInput("timestep", tensors(())),
        TensorInput("residuals", tensors((1,), (2,), (3,), (4,), (5,))),
        TensorInput("pair", tensors((1,), (2, 3))),
    )
    assert inputs_text(inputs) == "sample 2x4, timestep scalar, residuals 1 + 2 + 3 + 4 ..., pair 1 + 2x3"
    assert inputs_text(()) == ""


def test_an_operation_shows_what_goes_in_and_what_comes_out() -> None:
    assert shapes_text(OperationShapes(((2, 64), (64, 64)), ((2, 64),))) == "2x64, 64x64 -> 2x64"
    assert shapes_text(OperationShapes((), ((128,),))) == " -> 128"
    assert shapes_text(OperationShapes()) == ""
