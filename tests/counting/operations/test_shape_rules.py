"""Results by rule are those that PyTorch infers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from diffprof.counting.operations.shape_inference import on_meta
from diffprof.counting.operations.shape_rules import result_by_rule

aten = torch.ops.aten
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
SHAPES = ((2, 6, 4), (1, 6, 1), (2, 4, 3, 5), (4,), (1, 4, 1, 1), (0, 4))


def virtual(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def description(result: Any) -> list[Any]:
    parts = result if isinstance(result, (list, tuple)) else (result,)
    return [(part.shape, part.stride(), part.dtype, part.untyped_storage().nbytes()) for part in parts]


def assert_equal(func: Any, *args: Any) -> None:
    found = result_by_rule(func, args, {}, on_meta)
    assert found is not None
    assert description(found) == description(on_meta(func, args, {}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (1, 6, 4, 3), (3, 6, 2, 4, 1)])
@pytest.mark.parametrize("groups", [1, 3])
def test_group_norm(shape: tuple[int, ...], dtype: torch.dtype, groups: int) -> None:
    weight = virtual(shape[1:2], dtype)
    size = virtual(shape[2:]).numel()
    assert_equal(aten.native_group_norm.default, virtual(shape, dtype), weight, weight, *shape[:2], size, groups, 1e-5)
    assert_equal(aten.native_group_norm.default, virtual(shape, dtype), None, None, *shape[:2], size, groups, 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "size"), [((2, 7, 6), [6]), ((2, 3, 5, 4), [5, 4]), ((6,), [6]), ((1, 1, 6), [6])])
def test_layer_norm(shape: tuple[int, ...], size: list[int], dtype: torch.dtype) -> None:
    weight = virtual(tuple(size), dtype)
    assert_equal(aten.native_layer_norm.default, virtual(shape, dtype), size, weight, weight, 1e-5)
    assert_equal(aten.native_layer_norm.default, virtual(shape, dtype), size, None, None, 1e-5)


@pytest.mark.parametrize("func", [aten.silu.default, aten.gelu.default, aten.neg.default, aten.rsqrt.default])
@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise_operations_of_one_tensor(func: Any, shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        assert_equal(func, virtual(shape, dtype))


@pytest.mark.parametrize(
    "func", [aten.add.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.eq.Tensor, aten.atan2.default]
)
def test_elementwise_operations_of_two_tensors(func: Any) -> None:
    pairs = [((2, 6, 4), (2, 6, 4)), ((2, 6, 4), (2, 1, 4)), ((2, 6, 1), (1, 1, 4)), ((3, 4), (2, 3, 4)), ((2, 4), ())]
    for (first, second), one, other in itertools.product(pairs, DTYPES, (*DTYPES, torch.int64)):
        assert_equal(func, virtual(first, one), virtual(second, other))
        assert_equal(func, virtual(second, other), virtual(first, one))


def test_a_number_promotes_as_in_pytorch() -> None:
    whole = virtual((2, 3), torch.int64)
    for number in (2, 2.0, True):
        assert_equal(aten.mul.Tensor, whole, number)
        assert_equal(aten.add.Tensor, virtual((2, 3), torch.bfloat16), number)
    assert_equal(aten.pow.Tensor_Scalar, whole, 2)
    assert_equal(aten.where.self, virtual((2, 3), torch.bool), virtual((2, 1)), virtual((), torch.float64))


@pytest.mark.parametrize("tensor", [virtual((3, 2)).t(), virtual((4, 4))[:, :2], virtual((2, 1)).expand(2, 3)])
def test_there_is_no_rule_for_tensors_that_lie_otherwise(tensor: torch.Tensor) -> None:
    assert result_by_rule(aten.silu.default, (tensor,), {}, on_meta) is None
