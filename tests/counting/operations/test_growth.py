"""Large results of small real tensors are virtual."""

from __future__ import annotations

import torch

from diffprof.counting.operations.growth import grows, spreads
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.stand_in_values import LARGEST_REAL
from diffprof.counting.operations.virtual import VirtualMode

aten = torch.ops.aten


def test_a_mask_of_rows_by_columns_grows_and_a_sum_of_equals_does_not() -> None:
    row = torch.zeros(2048)
    assert grows(aten.add.Tensor, (row, row[:, None]), [row, row[:, None]])
    assert not grows(aten.add.Tensor, (row, row), [row, row])
    assert not grows(aten.mm.default, (row[None], row[:, None]), [row[None], row[:, None]])
    assert spreads(aten.add.Tensor) and not spreads(aten.mm.default)


def test_copies_of_a_tensor_grow_with_their_number() -> None:
    assert grows(aten.repeat.default, (torch.zeros(1), [LARGEST_REAL + 1]), [torch.zeros(1)])
    assert not grows(aten.repeat.default, (torch.zeros(1), [LARGEST_REAL]), [torch.zeros(1)])


def test_what_a_component_enlarges_beyond_what_is_kept_is_virtual() -> None:
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    latents = torch.zeros(1, 16, 3, 20, 20)
    with recorder.component_call("Decoder"), mode:
        small = torch.nn.functional.interpolate(latents, scale_factor=1.5)
        large = torch.nn.functional.interpolate(latents, size=(9, 160, 160))
    with mode:
        outside = torch.nn.functional.interpolate(latents, size=(9, 160, 160))
    assert (small.is_meta, large.is_meta, outside.is_meta) == (False, True, False)
    assert tuple(large.shape) == (1, 16, 9, 160, 160)
