"""What convolutions take beside their tensors."""

from __future__ import annotations

from itertools import accumulate

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from diffprof.prediction.workspace import convolution_bytes, score_bytes
from diffprof.record.profile import NO_WORK, Operation
from diffprof.record.tensors import OperationShapes


def convolution(batch: int, side: int = 1024, channels: int = 128, dtype: str = "bfloat16") -> Operation:
    """From 256 channels."""
    shapes = OperationShapes(((batch, 256, side, side), (channels, 256, 3, 3)), ((batch, channels, side, side),))
    return Operation("convolution", "convolution", shapes, dtype, 1, NO_WORK)


@pytest.mark.parametrize("batch", [1, 4, 8])
def test_input_output_and_weights_are_copied(batch: int) -> None:
    pixels = batch * 1024**2
    assert convolution_bytes(convolution(batch)) == 2 * (pixels * (256 + 128) + 128 * 256 * 9)


@pytest.mark.parametrize(
    "operation",
    [convolution(4, channels=256), convolution(16), convolution(1, dtype="float32")],
    ids=["several images", "more elements than 32 bits can number", "float32"],
)
def test_the_output_is_written_where_it_is_wanted(operation: Operation) -> None:
    source, weight = operation.shapes.inputs
    elements = source[0] * 256 * 1024**2 + weight[0] * 256 * 9
    assert convolution_bytes(operation) == (4 if operation.dtype == "float32" else 2) * elements


def test_one_large_image_is_copied_in_and_out() -> None:
    assert convolution_bytes(convolution(1, side=2048, channels=256)) == 2 * (2 * 2048**2 * 256 + 256 * 256 * 9)


@pytest.mark.parametrize(("dtype", "each"), [("float16", 9), ("bfloat16", 9), ("float32", 9), ("float64", 17)])
def test_unfused_attention_takes_what_pytorch_allocates_for_it(dtype: str, each: int) -> None:
    """Held against a real call on the CPU."""
    tokens = 256
    shape = (1, 2, tokens, 4)
    query = torch.zeros(shape, dtype=getattr(torch, dtype))
    activities = [ProfilerActivity.CPU]
    with sdpa_kernel(SDPBackend.MATH), torch.no_grad(), profile(activities=activities, profile_memory=True) as run:
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    moves = [event for event in run.profiler.kineto_results.events() if event.name() == "[memory]"]
    moves.sort(key=lambda event: event.start_ns())
    most = max(accumulate(event.nbytes() for event in moves))

    operation = Operation("attention", "attention", OperationShapes((shape,) * 3, (shape,)), dtype, 1, NO_WORK)
    assert score_bytes(operation) == each * 2 * tokens**2
    # Small copies of queries and keys come on top.
    assert score_bytes(operation) == pytest.approx(most, rel=0.1)
