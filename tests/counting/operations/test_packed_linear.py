"""What a linear layer with packed weights costs, worked out by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.pipelines.packing.packed_weights import PackedWeight, plan_packing
from diffprof.record.profile import Cost

ROWS, INPUTS, OUTPUTS = 10, 64, 32
STORED = 1216


def cost_of(packed: PackedWeight, rows: int = ROWS, dtype: torch.dtype = torch.bfloat16) -> Cost:
    weight = torch.nn.Parameter(torch.empty(OUTPUTS, INPUTS, dtype=dtype, device="meta"), requires_grad=False)
    plan_packing(weight, packed)
    bias = torch.empty(OUTPUTS, dtype=dtype, device="meta")
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    x = torch.empty(rows, INPUTS, dtype=dtype, device="meta")
    with recorder.component_call("Linear") as call, mode, FunctionMode(mode), torch.no_grad():
        result: Any = F.linear(x, weight, bias)
        assert (tuple(result.shape), result.dtype) == ((rows, OUTPUTS), dtype)
        return call.cost(recorder.live.peak - call.live_bytes_before)


def operations(cost: Cost) -> dict[str, Any]:
    return {operation.name: operation for operation in cost.operations}


def test_the_product_reads_the_packed_weight_and_a_copy_is_alive_meanwhile() -> None:
    cost = cost_of(PackedWeight("nf4", (OUTPUTS, INPUTS), STORED, copies=(None,), fused_rows=1))
    linear, unpack = (operations(cost)[name] for name in ("linear", "unpack_weight"))
    assert linear.work.macs == ROWS * INPUTS * OUTPUTS
    assert linear.work.read_bytes == 2 * ROWS * INPUTS + STORED + 2 * OUTPUTS
    assert linear.work.written_bytes == 2 * ROWS * OUTPUTS
    assert linear.dtype == "bfloat16"
    assert unpack.work.written_bytes == unpack.work.read_bytes == 2 * INPUTS * OUTPUTS
    assert unpack.work.other_flops == INPUTS * OUTPUTS
    assert cost.peak_live_bytes == 2 * INPUTS * OUTPUTS + 2 * ROWS * OUTPUTS


def test_a_kernel_that_unpacks_as_it_computes_makes_no_copy() -> None:
    cost = cost_of(PackedWeight("nf4", (OUTPUTS, INPUTS), STORED, copies=(None,), fused_rows=1), rows=1)
    assert set(operations(cost)) == {"linear"}
    assert cost.peak_live_bytes == 2 * OUTPUTS


def test_the_second_copy_is_made_of_the_first() -> None:
    cost = cost_of(PackedWeight("Q4_K", (OUTPUTS, INPUTS), STORED, copies=(torch.float16, None), unpacking_flops=2))
    unpack = operations(cost)["unpack_weight"]
    assert unpack.work.written_bytes == 4 * INPUTS * OUTPUTS
    assert unpack.work.other_flops == 2 * INPUTS * OUTPUTS
    assert cost.peak_live_bytes == max(4 * INPUTS * OUTPUTS, 2 * INPUTS * OUTPUTS + 2 * ROWS * OUTPUTS)


def test_a_product_in_int8_quantizes_its_input_and_rescales_what_comes_out() -> None:
    packed = PackedWeight("int8", (OUTPUTS, INPUTS), STORED, product_dtype=torch.int8, input_dtype=torch.int8)
    cost = cost_of(packed)
    quantize, linear, rescale = (operations(cost)[name] for name in ("quantize_input", "linear", "rescale_output"))
    assert linear.dtype == "int8"
    assert linear.work.macs == ROWS * INPUTS * OUTPUTS
    assert linear.work.read_bytes == ROWS * INPUTS + STORED + 2 * OUTPUTS
    assert linear.work.written_bytes == 4 * ROWS * OUTPUTS
    assert quantize.work.written_bytes == ROWS * INPUTS + 4 * ROWS
    assert (rescale.work.read_bytes, rescale.work.written_bytes) == (4 * ROWS * OUTPUTS, 2 * ROWS * OUTPUTS)


def test_the_dtype_that_products_are_computed_in_is_cast_to_and_back() -> None:
    from diffprof.counting.operations.packed_linear import packed_linear

    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    x = torch.empty(ROWS, INPUTS, dtype=torch.float32, device="meta")
    packed = PackedWeight("nf4", (OUTPUTS, INPUTS), STORED)
    with recorder.component_call("Linear") as call, mode:
        result = packed_linear(mode, x, packed, None, torch.bfloat16)
        cost = call.cost(0)
    assert result.dtype == torch.float32
    assert operations(cost)["linear"].dtype == "bfloat16"
    assert sum(operation.count for operation in cost.operations if operation.name == "_to_copy") == 2
