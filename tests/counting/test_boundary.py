"""What crosses the boundary of a component: signatures of inputs, outputs with zeros, sizes of images and videos."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import pytest
import torch
from PIL import Image

from diffprof.counting.boundary import (
    is_replayable,
    leaves,
    output_sizes,
    signature,
    tensor_inputs,
    with_real_zeros,
)
from diffprof.record.tensors import TensorInput, TensorShape


class Pair(NamedTuple):
    first: Any
    second: Any


def test_equal_shapes_have_equal_signatures_and_equal_numbers_of_other_types_have_not() -> None:
    assert signature({"x": torch.zeros(2, 3)}) == signature({"x": torch.ones(2, 3)})
    assert signature(torch.zeros(2, 3)) != signature(torch.zeros(2, 3, dtype=torch.float16))
    assert len({signature(2), signature(2.0), signature(True), signature("2")}) == 4
    assert signature(torch.Generator()) == signature(torch.Generator().manual_seed(5))
    assert signature(Image.new("RGB", (4, 4))) != signature(Image.new("RGB", (4, 8)))


def test_only_calls_without_objects_that_can_keep_state_are_replayed() -> None:
    assert is_replayable(((torch.zeros(1), [1, "a", None]), {"flag": True}))
    assert not is_replayable({"cache": object()})


def test_small_virtual_outputs_become_zeros_in_copies_of_what_holds_them() -> None:
    virtual = torch.empty(2, 3, device="meta")
    output = with_real_zeros({"pair": Pair(virtual, 3), "list": [virtual]})
    assert torch.equal(output["pair"].first, torch.zeros(2, 3))
    assert (output["pair"].second, len(leaves(output))) == (3, 3)
    large = torch.empty(1 << 21, device="meta")
    copies: list[tuple[torch.Tensor, torch.Tensor]] = []
    assert with_real_zeros([large], copies)[0].is_meta
    assert copies[0][0] is large and copies[0][1] is not large


def test_tensor_inputs_have_their_parameters_names() -> None:
    def forward(self: Any, sample: Any, timestep: Any, added: Any = None) -> None:
        """As of a denoiser."""

    tensors = (torch.zeros(2, 4, 8, 8), torch.tensor(1))
    assert tensor_inputs(forward, tensors, {"added": [torch.zeros(3)] * 5, "scale": 0.5}) == (
        TensorInput("sample", (TensorShape((2, 4, 8, 8), "float32"),)),
        TensorInput("timestep", (TensorShape((), "int64"),)),
        TensorInput("added", (TensorShape((3,), "float32"),) * 5),
    )


@pytest.mark.parametrize(
    ("output", "sizes"),
    [
        (([Image.new("RGB", (64, 32))],), {"height": 32, "width": 64}),
        ((torch.zeros(1, 3, 32, 64),), {"height": 32, "width": 64}),
        ((numpy.zeros((1, 32, 64, 3)),), {"height": 32, "width": 64}),
        (([[Image.new("RGB", (64, 32))] * 5],), {"height": 32, "width": 64, "num_frames": 5}),
        ((torch.zeros(1, 5, 3, 32, 64),), {"height": 32, "width": 64, "num_frames": 5}),
        ((torch.zeros(1, 16, 32, 64),), {}),
        (("audio",), {}),
    ],
)
def test_sizes_are_those_of_the_image_or_video(output: Any, sizes: dict[str, int]) -> None:
    assert output_sizes(output) == sizes
