"""Formulas that are registered from outside count, in a pipeline's profile too, until they are removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

import diffprof
from diffprof.counting.formulas.registry import registered_operations
from diffprof.errors import DiffprofError, RequestError
from tests.counting.formulas.counted import on_real, on_virtual
from tests.small_pipelines import SMALL_PIPELINES


@torch.library.custom_op("diffprof_tests::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@double.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def seven_flops(arguments: Sequence[Any], result: Any) -> diffprof.OperationCost:
    return diffprof.OperationCost("elementwise", other_flops=7 * result.numel())


class Doubled(torch.nn.Module):
    """A layer whose output goes through a custom operation."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.diffprof_tests.double(self.layer(x))


@pytest.fixture(autouse=True)
def _no_formula_is_left_behind() -> Iterator[None]:
    assert registered_operations() == ()
    yield
    assert registered_operations() == ()


def test_a_custom_operation_in_a_pipeline_is_unknown_until_it_has_a_formula() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    pipeline.unet.conv_out = Doubled(pipeline.unet.conv_out)
    before = diffprof.profile(pipeline, **small.arguments())
    with diffprof.register_formula("diffprof_tests::double", seven_flops):
        counted = diffprof.profile(pipeline, **small.arguments())
    after = diffprof.profile(pipeline, **small.arguments())

    calls = before.components["unet"].calls
    assert dict(before.ledger.unknown) == {"double": calls}
    assert dict(counted.ledger.unknown) == {}
    assert counted.ledger.known_ops == counted.ledger.executed_ops
    [operation] = {op for call in counted.calls for op in call.cost.operations if op.name == "double"}
    elements = operation.work.written_bytes // operation.count // 4
    assert operation.kind == "elementwise"
    assert operation.work.other_flops == 7 * elements * operation.count
    added = counted.components["unet"].work.other_flops - before.components["unet"].work.other_flops
    assert added == 7 * elements * calls
    assert counted.total.macs == before.total.macs
    assert after == before


@pytest.mark.parametrize(
    "operation",
    ["diffprof_tests::double", "diffprof_tests::double.default", double, torch.ops.diffprof_tests.double],
    ids=["name", "overload", "custom_op", "packet"],
)
def test_an_operation_is_named_by_its_name_or_by_itself(operation: Any) -> None:
    with diffprof.register_formula(operation, seven_flops):
        for count in (on_virtual, on_real):
            assert count(torch.ops.diffprof_tests.double, torch.ones(3, 5)).work.other_flops == 7 * 15


def test_a_formula_takes_the_place_of_the_one_that_the_table_has_also_in_place() -> None:
    def no_macs(arguments: Sequence[Any], result: Any) -> diffprof.OperationCost:
        return diffprof.OperationCost("matmul", macs=1)

    matrices = torch.ones(2, 3), torch.ones(3, 4)
    assert on_virtual(torch.mm, *matrices).work.macs == 24
    with diffprof.register_formula(torch.ops.aten.mm.default, no_macs):
        assert on_virtual(torch.mm, *matrices).work.macs == 1
    with diffprof.register_formula("aten::linear", no_macs):
        assert on_virtual(torch.nn.functional.linear, torch.ones(2, 3), torch.ones(4, 3)).work.macs == 1
    with diffprof.register_formula("aten::relu", seven_flops):
        assert on_virtual(torch.relu_, torch.ones(2, 3)).work.other_flops == 42
    assert on_virtual(torch.mm, *matrices).work.macs == 24


def test_the_last_registered_formula_counts_and_each_can_be_removed_by_itself() -> None:
    def one_flop(arguments: Sequence[Any], result: Any) -> diffprof.OperationCost:
        return diffprof.OperationCost("elementwise", other_flops=1)

    def other_flops() -> int:
        return on_virtual(torch.ops.diffprof_tests.double, torch.ones(2)).work.other_flops

    first = diffprof.register_formula("diffprof_tests::double", seven_flops)
    second = diffprof.register_formula("diffprof_tests::double", one_flop)
    assert other_flops() == 1
    first.remove()
    assert other_flops() == 1
    first.remove()
    second.remove()
    assert other_flops() == 0
    assert repr(second) == "<formula of diffprof_tests::double>"


@pytest.mark.parametrize("operation", ["double", "a::b::c", "", 3, len])
def test_an_object_that_is_not_an_operation_is_rejected(operation: Any) -> None:
    with pytest.raises(RequestError, match="is not an operation; give a name such as"):
        diffprof.register_formula(operation, seven_flops)


def test_an_object_that_is_not_a_formula_is_rejected() -> None:
    with pytest.raises(RequestError, match=r"a formula is a function of \(arguments, result\), not a int"):
        diffprof.register_formula("diffprof_tests::double", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (5, r"returned 5; return a diffprof\.OperationCost"),
        (diffprof.OperationCost("magic"), "has the kind 'magic'; there are linear, "),
        (diffprof.OperationCost("matmul", macs=2.5), "counts are integers from 0"),  # type: ignore[arg-type]
        (diffprof.OperationCost("matmul", macs=-1), "counts are integers from 0"),
    ],
)
def test_a_wrong_cost_is_an_error_that_names_the_operation(returned: Any, message: str) -> None:
    with (
        diffprof.register_formula("diffprof_tests::double", lambda arguments, result: returned),
        pytest.raises(DiffprofError, match=message) as wrong,
    ):
        on_virtual(torch.ops.diffprof_tests.double, torch.ones(2))
    assert "diffprof_tests::double" in str(wrong.value)


def test_a_formula_that_fails_is_not_taken_for_a_failure_of_the_pipeline() -> None:
    def failing(arguments: Sequence[Any], result: Any) -> diffprof.OperationCost:
        raise KeyError("axis")

    small = SMALL_PIPELINES["stable-diffusion"]
    with (
        diffprof.register_formula("aten::convolution", failing),
        pytest.raises(DiffprofError, match=r"registered formula of aten::convolution failed \(KeyError: 'axis'\)"),
    ):
        diffprof.profile(small.build(), **small.arguments())
