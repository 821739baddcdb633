"""What convolutions take beside their tensors."""

from __future__ import annotations

import pytest

from diffprof.prediction.workspace import convolution_bytes
from diffprof.record.profile import NO_WORK, Operation
from diffprof.record.tensors import OperationShapes


def convolution(batch: int, side: int = 1024) -> Operation:
    shapes = OperationShapes(((batch, 256, side, side), (128, 256, 3, 3)), ((batch, 128, side, side),))
    return Operation("convolution", "convolution", shapes, "bfloat16", 1, NO_WORK)


@pytest.mark.parametrize("batch", [1, 4])
def test_input_output_and_weights_are_copied(batch: int) -> None:
    pixels = batch * 1024**2
    assert convolution_bytes(convolution(batch)) == 2 * (pixels * (256 + 128) + 128 * 256 * 9)
