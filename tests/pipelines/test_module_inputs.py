"""Inputs of a module from their shapes."""

from __future__ import annotations

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.module_inputs import LARGEST_REAL_ELEMENTS, check_method, input_tensors


class Block(torch.nn.Module):
    """Takes a state, numbers of tokens and a scale."""

    def forward(self, state: torch.Tensor, input_ids: torch.LongTensor | None = None, scale: float = 1.0) -> None: ...


def test_shapes_have_the_dtype_of_the_model_unless_it_is_said_or_follows() -> None:
    made = input_tensors(Block(), {"state": "2x3", "input_ids": "1x77", "scale": "2.5"}, "float16")
    assert (made["state"].shape, made["state"].dtype) == ((2, 3), torch.float16)
    assert made["input_ids"].dtype is torch.int64
    assert made["scale"] == 2.5
    assert input_tensors(Block(), {"state": "2x3:bfloat16"}, "float16")["state"].dtype is torch.bfloat16
    assert input_tensors(Block(), {"state": "scalar"}, "float32")["state"].shape == ()


def test_a_large_input_is_virtual_and_whole_numbers_never_are() -> None:
    large = str(LARGEST_REAL_ELEMENTS + 1)
    made = input_tensors(Block(), {"state": large, "input_ids": large}, "float32")
    assert (made["state"].is_meta, made["input_ids"].is_meta) == (True, False)


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "Block needs state; give the shape of each, .* it can also take input_ids, scale"),
        ({"state": "1", "stat": "1"}, "Block has no input 'stat'; did you mean state"),
        ({"state": "1xx2"}, "--input state takes a shape such as"),
        ({"state": "٣x2"}, "--input state takes a shape such as"),
        ({"state": "2:float3"}, "has the unknown dtype 'float3'"),
        ({"state": "999999x999999"}, "no model takes as many"),
        ({"state": "x".join(["1"] * 17)}, "no model takes as many"),
    ],
)
def test_what_is_no_input_is_refused(inputs: dict[str, str], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        input_tensors(Block(), inputs, "float32")


def test_only_methods_that_pipelines_call_can_be_counted() -> None:
    check_method(Block(), "forward")
    with pytest.raises(RequestError, match="Block has no method 'train' to count; it has forward"):
        check_method(Block(), "train")
