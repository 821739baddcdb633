"""Shapes of arguments."""

from __future__ import annotations

from diffprof.record.tensors import OperationShapes, TensorInput, TensorShape


def test_an_argument_has_the_shapes_of_all_its_tensors() -> None:
    argument = TensorInput("states", (TensorShape((2, 77), "float16"), TensorShape((), "int64")))
    assert argument.shapes == ((2, 77), ())


def test_operations_are_in_the_order_of_their_shapes() -> None:
    small, large = OperationShapes(((2, 3),)), OperationShapes(((2, 10),))
    assert sorted([large, small]) == [small, large]  # as numbers, not as text
