"""Attention and linear layers are counted whole where they are called, and nothing is sent to a device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from diffprof.counting.operations.functions import FunctionMode, is_accelerator
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from tests.counting.formulas.counted import kinds, on_virtual


@pytest.mark.parametrize(
    ("device", "expected"),
    [("cuda", True), ("cuda:1", True), (torch.device("xpu"), True), (0, True), ("cpu", False), ("meta", False),
     (torch.device("cpu"), False), (None, False)],
)  # fmt: skip
def test_every_device_but_cpu_and_meta_is_an_accelerator(device: Any, expected: bool) -> None:
    assert is_accelerator(device) is expected


def test_a_linear_layer_is_of_kind_linear_however_its_arguments_are_passed() -> None:
    x, weight, bias = torch.ones(2, 5, 3), torch.ones(4, 3), torch.ones(4)
    for function in (
        F.linear,
        lambda x, weight, bias: F.linear(x, weight, bias=bias),
        lambda x, weight, bias: F.linear(input=x, weight=weight, bias=bias),
        lambda x, weight, bias: F.linear(bias=bias, weight=weight, input=x),
    ):
        assert kinds(on_virtual(function, x, weight, bias)) == {"linear": 2 * 5 * 3 * 4}


def test_a_linear_layer_with_wrong_features_is_rejected_as_torch_refuses_it() -> None:
    with pytest.raises(RuntimeError, match="must have same reduction dim"):
        on_virtual(F.linear, torch.ones(2, 3), torch.ones(4, 5))


def test_a_linear_layer_is_counted_alike_whatever_was_counted_before_it() -> None:
    """An input that lies transposed in memory is one of the same shape to a count of before."""
    weight, contiguous, transposed = torch.ones(4, 3), torch.ones(2, 5, 3), torch.ones(2, 3, 5).transpose(1, 2)
    for first, second in ((contiguous, transposed), (transposed, contiguous)):
        found = [on_virtual(F.linear, x, weight).operations[0].strided_bytes for x in (first, second)]
        assert found == [0 if x is contiguous else 2 * 5 * 3 * 4 for x in (first, second)]


def test_attention_takes_no_memory_for_the_scores() -> None:
    """Fused kernels never hold the N x N scores; only the result is written."""
    tensors = [torch.ones(1, 1, 4096, 8)] * 3
    cost = on_virtual(F.scaled_dot_product_attention, *tensors)
    assert cost.work.written_bytes == 4096 * 8 * 4
    assert cost.work.read_bytes == 3 * 4096 * 8 * 4
    assert cost.peak_live_bytes == 4096 * 8 * 4


def test_attention_leaves_its_result_in_memory_with_tokens_before_heads() -> None:
    """As fused kernels do, so that merging the heads afterwards is a view and moves nothing."""

    def attend(query: torch.Tensor) -> torch.Tensor:
        result = F.scaled_dot_product_attention(query, query, query)
        assert tuple(result.shape) == (1, 2, 5, 4)
        return result.transpose(1, 2).view(1, 5, 8)

    moved = {op.name: op.work.moved_bytes for op in on_virtual(attend, torch.ones(1, 2, 5, 4)).operations}
    assert moved == {"scaled_dot_product_attention": 4 * 2 * 5 * 4 * 4, "transpose": 0, "view": 0}


def test_a_tensor_for_an_accelerator_is_created_on_the_cpu_and_stays_there() -> None:
    mode = VirtualMode(OperationRecorder())
    with mode, FunctionMode(mode):
        created = torch.zeros(2, device="cuda")
        moved = [created.to("cuda:0"), created.to(torch.device("cuda")), created.cuda()]
    assert {tensor.device.type for tensor in (created, *moved)} == {"cpu"}


def test_an_array_of_values_that_depend_on_weights_is_zeros_and_the_assumption_is_recorded() -> None:
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    virtual = torch.empty(3, device="meta")
    with recorder.component_call("Function"), mode, FunctionMode(mode):
        assert virtual.tolist() == [0, 0, 0]
    assert list(recorder.assumptions) == ["values (3,) that depend on weights are read as an array: taken as zero"]


def test_distances_between_a_real_and_a_virtual_tensor_are_virtual() -> None:
    mode, virtual = VirtualMode(OperationRecorder()), torch.empty(7, 3, device="meta")
    with mode, FunctionMode(mode):
        distances = torch.cdist(torch.ones(5, 3), virtual)
    assert (tuple(distances.shape), distances.device.type) == ((5, 7), "meta")
