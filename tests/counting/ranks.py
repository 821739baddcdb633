"""One rank of pipelines whose transformer is spread over two: run by test_collectives.py, prints what it counted."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
import torch.distributed as dist
from diffusers import ContextParallelConfig, TensorParallelConfig
from diffusers.hooks import tensor_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from tests.small_pipelines import SMALL_PIPELINES


def main(meeting_place: str, rank: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting_place}", rank=int(rank), world_size=2)
    torch.accelerator.device_count = lambda: 1  # diffusers divides by it, also on a machine without any
    # diffusers shards weights on accelerators only; gloo would do it on the CPU, too.
    tensor_parallel._SUPPORTED_TP_DEVICES = (*tensor_parallel._SUPPORTED_TP_DEVICES, "cpu")
    json.dump({kind: count_part(kind) for kind in ("ulysses", "tp")}, sys.stdout)
    dist.destroy_process_group()


def count_part(kind: str) -> dict[str, Any]:
    """What this rank executes of a pipeline that is spread in this way, by our count and by others."""
    small = SMALL_PIPELINES["flux"]
    arguments = {**small.arguments(), "output_type": "latent"}
    pipeline = small.build()
    alone = diffprof.profile(pipeline, **arguments)
    by_linear = macs_of_linears(pipeline, arguments)
    owner = TensorParallelConfig if kind == "tp" else ContextParallelConfig
    pipeline.transformer.enable_parallelism(config=owner(**{f"{kind}_degree": 2}))
    unwatched = pipeline(**{**arguments, "generator": torch.Generator().manual_seed(1)}).images
    with diffprof.measuring(pipeline, sample_hz=1) as run:
        watched = pipeline(**{**arguments, "generator": torch.Generator().manual_seed(1)}).images
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        pipeline(**arguments)
    # torch's counter sees a sharded layer as a whole: of it, this rank computes one half.
    sharded = sum(macs for linear, macs in by_linear.items() if hasattr(linear.weight, "_local_tensor"))
    profile = run.profile
    collectives: dict[str, int] = {}
    for operation in (operation for call in profile.calls for operation in call.cost.operations):
        if operation.name.startswith("all_"):
            collectives[operation.name] = collectives.get(operation.name, 0) + operation.work.moved_bytes
    return {
        "equal": bool(torch.equal(unwatched, watched)),
        "macs": profile.total.macs,
        "executed": counter.get_total_flops() // 2 - sharded // 2,
        "alone": alone.total.macs,
        "collectives": collectives,
        "unknown": dict(profile.ledger.unknown),
        "weight_bytes": profile.components["transformer"].weight_bytes,
        "whole_bytes": alone.components["transformer"].weight_bytes,
        "held_bytes": sum(
            part.numel() * part.element_size()
            for part in (getattr(one, "_local_tensor", one) for one in pipeline.transformer.parameters())
        ),
        "limitations": [limitation.kind for limitation in profile.measured.limitations],
    }


def macs_of_linears(pipeline: Any, arguments: Any) -> dict[torch.nn.Linear, int]:
    """The MACs of every linear layer of the transformer in one call, by the shapes of its inputs."""
    found: dict[torch.nn.Linear, int] = {}

    def note(linear: torch.nn.Linear, args: Any, output: torch.Tensor) -> None:
        found[linear] = found.get(linear, 0) + args[0].numel() * linear.out_features

    linears = [module for module in pipeline.transformer.modules() if isinstance(module, torch.nn.Linear)]
    hooks = [linear.register_forward_hook(note) for linear in linears]
    pipeline(**arguments)
    for hook in hooks:
        hook.remove()
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
