"""Pipelines whose transformer is spread over ranks: run by test_collectives.py, writes down what each rank counted.

The ranks are forked when all is imported and the pipeline was counted alone, which takes longer than what they do.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from diffusers import ContextParallelConfig, TensorParallelConfig
from diffusers.hooks import tensor_parallel
from diffusers.models import attention_dispatch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from tests.small_pipelines import SMALL_PIPELINES

SMALL = SMALL_PIPELINES["flux"]
WAYS: dict[int, dict[str, dict[str, int]]] = {
    2: {"ulysses": {"ulysses_degree": 2}, "ring": {"ring_degree": 2}, "tp": {"tp_degree": 2}, "fsdp": {}},
    4: {"unified": {"ulysses_degree": 2, "ring_degree": 2}},
}
"""Number of ranks -> the ways in which they share the work, each with its degrees."""


@dataclass(frozen=True)
class Alone:
    """The pipeline where it is not spread."""

    profile: diffprof.Profile
    macs_of_linears: dict[str, int]
    """Name of a linear layer of the transformer -> its MACs in one call, by the shapes of its inputs."""


def main(folder: str, *counts: str) -> None:
    torch.set_num_threads(1)
    alone = run_alone()
    for count in map(int, counts):
        start = multiprocessing.get_context("fork").Process
        ranks = [start(target=run_rank, args=(Path(folder), rank, count, alone)) for rank in range(count)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        if any(rank.exitcode for rank in ranks):
            sys.exit(1)


def run_rank(folder: Path, rank: int, count: int, alone: Alone) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet{count}", rank=rank, world_size=count)
    torch.accelerator.device_count = lambda: 1  # diffusers divides by it, also on a machine without any
    # diffusers shards weights on accelerators only; gloo would do it on the CPU, too.
    tensor_parallel._SUPPORTED_TP_DEVICES = (*tensor_parallel._SUPPORTED_TP_DEVICES, "cpu")
    # A ring needs to know how much each part weighs, which none of the attentions on a CPU tells.
    attention_dispatch._native_attention_forward_op = attend
    found = {way: count_part(way, degrees, alone) for way, degrees in WAYS[count].items()}
    (folder / f"{count}-{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def attend(
    ctx: Any, query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
    scale: float | None = None, gqa: bool = False, return_lse: bool = False, _save_ctx: bool = True, **_: Any,
) -> Any:  # fmt: skip
    """Attention [batch, tokens, heads, size], and the logarithm of the sum of each row's exponentials."""
    assert mask is None and not causal and not gqa
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    scores = query @ key.transpose(-1, -2) * (scale or query.shape[-1] ** -0.5)
    out = (scores.softmax(-1) @ value).transpose(1, 2)
    return (out, scores.logsumexp(-1).transpose(1, 2)) if return_lse else out


def spread(transformer: Any, way: str, degrees: dict[str, int]) -> None:
    if way == "fsdp":
        mesh = init_device_mesh("cpu", (2,))
        for block in transformer.transformer_blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(transformer, mesh=mesh)
    else:
        owner = TensorParallelConfig if way == "tp" else ContextParallelConfig
        transformer.enable_parallelism(config=owner(**degrees))


def count_part(way: str, degrees: dict[str, int], alone: Alone) -> dict[str, Any]:
    """What this rank executes of a pipeline that is spread in this way, by our count and by others."""
    arguments = {**SMALL.arguments(), "output_type": "latent"}
    pipeline = SMALL.build()
    spread(pipeline.transformer, way, degrees)
    unwatched = pipeline(**{**arguments, "generator": torch.Generator().manual_seed(1)}).images
    if dist.get_rank() == 0:  # alone: whoever waited for the others would wait forever
        assert diffprof.profile(pipeline, **arguments).total.macs
    with diffprof.measuring(pipeline, sample_hz=1) as run:
        watched = pipeline(**{**arguments, "generator": torch.Generator().manual_seed(1)}).images
    after = pipeline(**{**arguments, "generator": torch.Generator().manual_seed(1)}).images
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        pipeline(**arguments)
    # torch's counter sees a sharded layer as a whole: of it, this rank computes one half.
    by_weight = {} if way == "fsdp" else alone.macs_of_linears
    sharded = sum(
        macs
        for name, macs in by_weight.items()
        if hasattr(pipeline.transformer.get_submodule(name).weight, "_local_tensor")
    )
    profile = run.profile
    collectives: dict[str, int] = {}
    for operation in (operation for call in profile.calls for operation in call.cost.operations):
        if operation.name.startswith("all_"):
            collectives[operation.name] = collectives.get(operation.name, 0) + operation.work.moved_bytes
    return {
        "equal": bool(torch.equal(unwatched, watched) and torch.equal(unwatched, after)),
        "macs": profile.total.macs,
        "executed": counter.get_total_flops() // 2 - sharded // 2,
        "alone": alone.profile.total.macs,
        "collectives": collectives,
        "unknown": dict(profile.ledger.unknown),
        "weight_bytes": profile.components["transformer"].weight_bytes,
        "parameters": profile.components["transformer"].parameters,
        "whole_parameters": alone.profile.components["transformer"].parameters,
        "whole_bytes": alone.profile.components["transformer"].weight_bytes,
        "held_bytes": sum(
            part.numel() * part.element_size()
            for part in (getattr(one, "_local_tensor", one) for one in pipeline.transformer.parameters())
        ),
        "limitations": [limitation.kind for limitation in profile.measured.limitations],
    }


def run_alone() -> Alone:
    found: dict[str, int] = {}
    pipeline, arguments = SMALL.build(), {**SMALL.arguments(), "output_type": "latent"}
    names = {module: name for name, module in pipeline.transformer.named_modules()}

    def note(linear: torch.nn.Linear, args: Any, output: torch.Tensor) -> None:
        found[names[linear]] = found.get(names[linear], 0) + args[0].numel() * linear.out_features

    hooks = [linear.register_forward_hook(note) for linear in names if isinstance(linear, torch.nn.Linear)]
    with diffprof.measuring(pipeline, sample_hz=0):  # once here, so that the ranks find it imported
        pipeline(**arguments)
    for hook in hooks:
        hook.remove()
    return Alone(diffprof.profile(pipeline, **arguments), found)


if __name__ == "__main__":
    main(*sys.argv[1:])
