"""Count a function in three ways: on virtual tensors, on real ones, and with torch's own counter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.record.profile import Cost
from tests.counting.real_mode import RealMode

Function = Callable[..., Any]


def on_virtual(function: Function, *tensors: torch.Tensor) -> Cost:
    """The cost of the function on virtual tensors."""
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    virtual = [tensor.to("meta") for tensor in tensors]
    with torch.no_grad(), recorder.component_call("Function") as call:
        with mode, FunctionMode(mode):
            function(*virtual)
        return call.cost(recorder.live.peak)


def on_real(function: Function, *tensors: torch.Tensor) -> Cost:
    """The cost of the function on real tensors."""
    recorder = OperationRecorder()
    with torch.no_grad(), recorder.component_call("Function") as call:
        with RealMode(recorder):
            function(*tensors)
        return call.cost(0)


def macs_by_torch(function: Function, *tensors: torch.Tensor) -> int:
    """The count of an independent counter, which gives two FLOPs for each MAC."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        function(*tensors)
    flops = counter.get_total_flops()
    assert flops % 2 == 0
    return int(flops) // 2


def macs_three_ways(function: Function, *tensors: torch.Tensor) -> set[int]:
    """The MACs on virtual tensors, on real ones and by torch; a set of one number when all agree."""
    return {
        on_virtual(function, *tensors).work.macs,
        on_real(function, *tensors).work.macs,
        macs_by_torch(function, *tensors),
    }


def other_flops_both_ways(function: Function, *tensors: torch.Tensor) -> set[int]:
    """The other FLOPs on virtual tensors and on real ones."""
    return {on_virtual(function, *tensors).work.other_flops, on_real(function, *tensors).work.other_flops}


def kinds(cost: Cost) -> dict[str, int]:
    """MACs by kind of work; kinds without MACs are left out."""
    found: dict[str, int] = {}
    for operation in cost.operations:
        if operation.work.macs:
            found[operation.kind] = found.get(operation.kind, 0) + operation.work.macs
    return found
