"""What convolutions take beside their tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import accumulate

import diffusers
import pytest
import torch
from diffusers.models.attention_processor import Attention, AttnProcessor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from diffprof import catalogue
from diffprof.prediction.workspace import (
    FUSED,
    MATH,
    PLAIN,
    PLAIN_CLASSES,
    attention_way,
    convolution_bytes,
    score_bytes,
)
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


TOKENS, HEADS = 256, 2


def attention(dtype: str) -> Operation:
    """Of one image, with four channels in each head."""
    shape = (1, HEADS, TOKENS, 4)
    return Operation("attention", "attention", OperationShapes((shape,) * 3, (shape,)), dtype, 1, NO_WORK)


def most_allocated(call: Callable[[], object]) -> int:
    """The peak of what PyTorch allocates on the CPU during the call."""
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        call()
    moves = [event for event in run.profiler.kineto_results.events() if event.name() == "[memory]"]
    moves.sort(key=lambda event: event.start_ns())
    return max(accumulate(event.nbytes() for event in moves))


@pytest.mark.parametrize(("dtype", "each"), [("float16", 9), ("bfloat16", 9), ("float32", 9), ("float64", 17)])
def test_unfused_attention_takes_what_pytorch_allocates_for_it(dtype: str, each: int) -> None:
    query = torch.zeros((1, HEADS, TOKENS, 4), dtype=getattr(torch, dtype))
    with sdpa_kernel(SDPBackend.MATH):
        most = most_allocated(lambda: torch.nn.functional.scaled_dot_product_attention(query, query, query))

    assert score_bytes(attention(dtype)) == each * HEADS * TOKENS**2
    # Small copies of queries and keys come on top.
    assert score_bytes(attention(dtype)) == pytest.approx(most, rel=0.1)


@pytest.mark.parametrize(("dtype", "each"), [("float16", 4), ("float32", 8)])
def test_the_plain_processor_of_diffusers_takes_its_scores_and_their_softmax(dtype: str, each: int) -> None:
    layer = Attention(8, heads=HEADS, dim_head=4, processor=AttnProcessor()).to(getattr(torch, dtype))
    pixels = torch.zeros((1, TOKENS, 8), dtype=getattr(torch, dtype))

    assert score_bytes(attention(dtype), PLAIN) == each * HEADS * TOKENS**2
    assert score_bytes(attention(dtype), PLAIN) == pytest.approx(most_allocated(lambda: layer(pixels)), rel=0.1)


def test_models_that_can_be_set_to_the_plain_processor_are_known() -> None:
    known = {entry.class_name for model in catalogue.entries() for entry in model.components.values()}
    found = {
        name
        for name in known
        if inspect.isclass(model := getattr(diffusers, name, None))
        and hasattr(model, "set_default_attn_processor")
        and "AttnProcessor()" in (source := inspect.getsource(model.set_default_attn_processor))
        and "2_0" not in source
    }
    assert found == known & {*PLAIN_CLASSES}
    assert attention_way("sdpa", "UNet2DConditionModel") == FUSED
    assert attention_way("math", "UNet2DConditionModel") == PLAIN
    assert attention_way("math", "FluxTransformer2DModel") == MATH
