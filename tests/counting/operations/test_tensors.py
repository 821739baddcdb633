"""Tensors in the arguments of an operation, and what its shape and cost depend on."""

from __future__ import annotations

import torch

from diffprof.counting.operations.tensors import dtype_text, signature_of, tensors_in


def test_tensors_are_found_in_lists_and_tuples_in_order() -> None:
    first, second, third = torch.ones(1), torch.nn.Parameter(torch.ones(2)), torch.ones(3)
    found = tensors_in((first, 2, [second, (None, third)], "text"))
    assert [id(tensor) for tensor in found] == [id(first), id(second), id(third)]


def test_a_tensor_of_a_subclass_is_found_too() -> None:
    class Packed(torch.Tensor):
        pass

    packed = torch.ones(2).as_subclass(Packed)
    assert tensors_in([packed])[0] is packed


def test_signatures_are_equal_for_equal_shapes_strides_and_dtypes_whatever_the_values() -> None:
    assert signature_of([torch.ones(2, 3), 1]) == signature_of([torch.zeros(2, 3), 1])
    different = [torch.ones(3, 2), torch.ones(3, 2).t(), torch.ones(2, 3).half()]
    assert len({signature_of(tensor) for tensor in (torch.ones(2, 3), *different)}) == 4


def test_signatures_of_equal_numbers_of_different_types_differ() -> None:
    assert len({signature_of(value) for value in (1, 1.0, True)}) == 3


def test_a_dtype_is_named_without_its_package() -> None:
    assert dtype_text(torch.ones(1, dtype=torch.bfloat16)) == "bfloat16"
    assert dtype_text(None) == ""
