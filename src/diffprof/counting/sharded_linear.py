"""Linear layers with tensor parallelism: count what one rank computes and communicates.

The inputs and outputs of such a layer pass through hooks of torch that communicate with the other ranks, which are not
in a dry run. So the layer is computed here, with this rank's part of the weight:

| split by | this rank computes | and communicates |
|---|---|---|
| outputs (``colwise``) | its part of the outputs | nothing |
| inputs (``rowwise``) | a part of every sum | an all-reduce of the outputs |
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from diffprof.counting.collectives import add_collective
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.pipelines.packing.packed_weights import own_part


def sharded_linear(recorder: OperationRecorder, module: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """Count the layer and return its result on this rank."""
    weight: Any = module.weight
    part = own_part(weight)
    bias = None if module.bias is None else own_part(module.bias)
    if not any(placement.is_shard(1) for placement in weight.placements):
        return F.linear(x, part, bias)
    result = F.linear(x, part)
    add_collective(recorder, "all_reduce", [result], [result])
    return result if bias is None else result + bias
