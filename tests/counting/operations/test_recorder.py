"""The recorder adds up what executes, by call, module and operation, with the bytes that are alive."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from diffprof.counting.operations.recorder import LiveBytes, OperationRecorder, Origins, executed_op
from tests.counting.formulas.counted import on_real, on_virtual


@pytest.mark.parametrize(("dtype", "bytes_each"), [(torch.float32, 4), (torch.bfloat16, 2), (torch.float64, 8)])
def test_bytes_follow_the_dtype(dtype: torch.dtype, bytes_each: int) -> None:
    x, weight = torch.ones(3, 4, dtype=dtype), torch.ones(5, 4, dtype=dtype)
    for cost in (on_virtual(F.linear, x, weight), on_real(F.linear, x, weight)):
        assert cost.work.read_bytes == (3 * 4 + 5 * 4) * bytes_each
        assert cost.work.written_bytes == 3 * 5 * bytes_each


def test_peak_live_bytes_are_the_most_alive_at_one_time() -> None:
    """a is 400 bytes, b and c likewise; a is gone when c is made."""

    def chain(x: torch.Tensor) -> torch.Tensor:
        a = x + 1
        b = a + 1
        del a
        return b + 1

    assert on_virtual(chain, torch.ones(100)).peak_live_bytes == 800


def linear(rows: int, features: int, outputs: int) -> Any:
    x, weight, result = torch.ones(rows, features), torch.ones(outputs, features), torch.ones(rows, outputs)
    return executed_op(torch.ops.aten.linear.default, [x, weight], (x, weight, None), result)


def test_an_operation_has_the_cost_and_the_shapes_of_its_tensors() -> None:
    op = linear(2, 3, 5)
    assert (op.name, op.kind, op.dtype) == ("linear", "linear", "float32")
    assert (op.macs, op.other_flops) == (2 * 3 * 5, 0)
    assert (op.read_bytes, op.written_bytes) == ((2 * 3 + 5 * 3) * 4, 2 * 5 * 4)
    assert (op.shapes.inputs, op.shapes.outputs) == (((2, 3), (5, 3)), ((2, 5),))


def test_an_expanded_dimension_is_read_once() -> None:
    x = torch.ones(1, 3).expand(1000, 3)
    op = executed_op(torch.ops.aten.neg.default, [x], (x,), torch.ones(1000, 3))
    assert (op.read_bytes, op.written_bytes) == (3 * 4, 1000 * 3 * 4)


def test_work_is_added_to_the_innermost_module_and_to_the_call() -> None:
    recorder, op = OperationRecorder(), linear(2, 3, 5)
    outer, inner = torch.nn.Sequential(), torch.nn.Linear(3, 5)
    with recorder.component_call("Model") as call:
        recorder.enter_module("block", outer, (), {})
        recorder.add(op)
        for _ in range(2):
            recorder.enter_module("block.0", inner, (), {})
            recorder.add(op)
            recorder.leave_module()
        recorder.leave_module()
    recorder.add(op)
    cost = call.cost(0)
    modules = [(module.path, module.class_name, module.calls, module.work.macs) for module in cost.modules]
    assert modules == [("", "Model", 0, 0), ("block", "Sequential", 1, 30), ("block.0", "Linear", 2, 60)]
    (operation,) = cost.operations
    assert (operation.count, operation.work.macs, cost.work.macs) == (3, 90, 90)
    assert recorder.outside.cost(0).work.macs == 30, "after the call, it is the pipeline's own work"


def test_a_tensor_counts_as_alive_until_it_is_deleted() -> None:
    live = LiveBytes()
    first, second = torch.ones(100), torch.ones(50)
    live.add(first)
    live.add(second)
    del first
    assert (live.now, live.peak) == (200, 600)
    assert live.start_peak() == live.peak == 200


def test_reading_a_value_marks_the_inputs_that_it_came_from() -> None:
    origins = Origins()
    timestep, sample, other = torch.ones(1), torch.ones(2), torch.ones(3)
    origins.mark_inputs({0: timestep, 1: sample})
    derived = timestep * 2
    origins.propagate([timestep], derived)
    origins.mark_read([other])
    assert origins.inputs_read == set()
    origins.mark_read([derived])
    assert origins.inputs_read == {0}
