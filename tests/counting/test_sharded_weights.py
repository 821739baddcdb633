"""Weights that FSDP has spread over ranks are whole in a dry run, and no other rank is asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import diffprof
from diffprof.errors import UncountableError
from tests.small_pipelines import SMALL_PIPELINES

SMALL = SMALL_PIPELINES["flux"]


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    """One rank, which is all that FSDP needs; several are in test_collectives.py."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def image_of(pipeline: Any) -> torch.Tensor:
    image: torch.Tensor = pipeline(**{**SMALL.arguments(), "output_type": "pt"}).images
    return image


def test_weights_are_computed_with_in_the_dtype_that_fsdp_was_given(mesh: Any) -> None:
    pipeline: Any = SMALL.build()
    plain = diffprof.profile(pipeline, **SMALL.arguments())
    policy = MixedPrecisionPolicy(param_dtype=torch.float16, output_dtype=torch.float32)
    fully_shard(pipeline.transformer, mesh=mesh, mp_policy=policy)
    counted = diffprof.profile(pipeline, **SMALL.arguments())
    alone = image_of(pipeline)
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        watched = image_of(pipeline)
    assert torch.equal(alone, watched) and torch.equal(alone, image_of(pipeline))
    assert run.profile.total.macs == counted.total.macs == plain.total.macs
    assert counted.components["transformer"].dtype == "float16"
    assert run.limitations == () and counted.ledger.unknown == {}


def test_several_modules_that_were_sharded_together_are_not_counted(mesh: Any) -> None:
    pipeline: Any = SMALL.build()
    fully_shard([pipeline.transformer.x_embedder, pipeline.transformer.context_embedder], mesh=mesh)
    with pytest.raises(UncountableError, match="several modules of transformer were passed to fully_shard together"):
        diffprof.profile(pipeline, **SMALL.arguments())


class FullyShardedDataParallel(torch.nn.Module):
    """Stands in for the wrapper of the first FSDP."""


def test_the_first_fsdp_is_refused_before_anybody_waits(mesh: Any) -> None:
    pipeline: Any = SMALL.build()
    pipeline.transformer.wrapped = FullyShardedDataParallel()
    with pytest.raises(UncountableError, match="transformer is wrapped by FSDP1"):
        diffprof.profile(pipeline, **SMALL.arguments())
