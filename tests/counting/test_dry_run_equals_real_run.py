"""A dry run counts, to the integer, what a real run of the same pipeline executes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from diffprof import catalogue
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.pipelines.components import components_of, modules_of, weight_bytes
from diffprof.pipelines.packing.packed_weights import packed_weight
from diffprof.runtime.instrumentation.pipeline_monitor import PipelineMonitor
from tests.counting.real_run import RealRun, real_run, unwatched_run
from tests.small_pipelines import SMALL_PIPELINES

FAMILIES_AT_LEAST = 40

# Pipelines whose real count depends on values that a dry run does not have, and why. Each is expected to differ: when
# one starts to agree, its test fails and it must leave this list.
DIFFERENT: dict[str, str] = {
    "stable-diffusion-attend-and-excite": "repeats a step until the attention paid to a word is high enough",
}


@pytest.mark.parametrize("name", [name for name in SMALL_PIPELINES if name not in DIFFERENT])
def test_every_call_costs_what_it_costs_in_a_real_run_and_a_watched_run_gives_what_an_unwatched_one_gives(
    name: str,
) -> None:
    dry, real = both(name)
    assert [(call.component, call.method, call.macs) for call in dry.calls if call.macs] == real.calls
    assert dry.outside.work.macs == real.outside
    assert sum(call.macs for call in dry.calls) > 0


@pytest.mark.parametrize("name", DIFFERENT)
def test_where_the_cost_depends_on_values_a_watched_run_still_gives_what_an_unwatched_one_gives(name: str) -> None:
    dry, real = both(name)
    assert [(call.component, call.method, call.macs) for call in dry.calls if call.macs] != real.calls


def both(name: str) -> tuple[DryRunResult, RealRun]:
    """A dry run, and a real run that is monitored; what an unwatched run gives must be what it gives, bit by bit.

    The dry run comes before the real one: what it leaves behind would show there.
    """
    small = SMALL_PIPELINES[name]
    pipeline = small.build()
    torch.manual_seed(0)
    unwatched = unwatched_run(pipeline, small.arguments())
    dry = dry_run(pipeline, small.arguments())
    methods = {"forward", "encode", "decode"} | {call.method for call in dry.calls}
    monitor = PipelineMonitor(pipeline, lambda call: None)
    monitor.start()
    try:
        torch.manual_seed(0)
        real = real_run(pipeline, components_of(pipeline), methods, small.arguments())
    finally:
        monitor.stop()
    assert bits_of(real.output) == bits_of(unwatched)
    check_weights(pipeline)
    return dry, real


def check_weights(pipeline: Any) -> None:
    """Parameters and bytes are those that torch itself would write into a checkpoint, each tensor once."""
    for part in components_of(pipeline).values():
        stored = {id(one): one for one in part.state_dict(keep_vars=True).values() if isinstance(one, torch.Tensor)}
        if any(map(packed_weight, part.parameters())):
            continue  # stands for more than it stores: test_quantized_pipelines.py
        parameters = [one.numel() for one in stored.values() if isinstance(one, torch.nn.Parameter)]
        assert sum(module.parameters for module in modules_of(part)) == sum(parameters)
        assert weight_bytes(part) == sum(one.nbytes for one in stored.values())


def bits_of(output: Any) -> Any:
    """Everything that an output holds, with the bytes of its tensors and images."""
    if isinstance(output, torch.Tensor):
        raw = output.detach().contiguous().flatten().view(torch.uint8)
        return output.dtype, tuple(output.shape), raw.numpy().tobytes()
    if isinstance(output, np.ndarray):
        return str(output.dtype), output.shape, output.tobytes()
    if isinstance(output, Image.Image):
        return output.size, output.tobytes()
    if isinstance(output, Mapping):
        return {key: bits_of(value) for key, value in output.items()}
    if isinstance(output, list | tuple):
        return [bits_of(value) for value in output]
    return output


def test_pipelines_of_many_families_are_equal() -> None:
    """A family is a pipeline class with a denoiser of its own kind; the options of one class are one family."""
    equal = {small.class_name for name, small in SMALL_PIPELINES.items() if name not in DIFFERENT}
    assert len(equal) >= FAMILIES_AT_LEAST


def test_every_pipeline_of_the_catalogue_has_a_small_version() -> None:
    small = {pipeline.class_name for pipeline in SMALL_PIPELINES.values()}
    assert {entry.pipeline for entry in catalogue.entries()} <= small


def test_what_is_listed_as_different_is_there() -> None:
    assert set(DIFFERENT) <= set(SMALL_PIPELINES)
