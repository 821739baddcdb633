"""Values in the place of a virtual tensor's."""

from __future__ import annotations

import torch

from diffprof.counting.operations.stand_in_values import LARGE_VALUE, LARGEST_REAL, real_zeros, stand_in, stand_in_word


def test_a_stand_in_takes_no_memory_for_its_elements() -> None:
    values = stand_in(torch.empty(1000, 1000, device="meta"))
    assert (values.shape, values.untyped_storage().nbytes(), values[3, 4].item()) == ((1000, 1000), 4, 0)
    assert stand_in(torch.empty(2, dtype=torch.bool, device="meta")).tolist() == [True, True]
    assert stand_in(torch.empty((), dtype=torch.bool, device="meta")).item() is False


def test_only_small_tensors_become_zeros() -> None:
    large = torch.empty(LARGEST_REAL + 1, device="meta")
    assert real_zeros(torch.empty(2, device="meta")).tolist() == [0, 0]
    assert real_zeros(large).is_meta and real_zeros(large).shape == large.shape


def test_large_values_are_large_and_true() -> None:
    assert stand_in(torch.empty(2, device="meta"), large=True).tolist() == [LARGE_VALUE, LARGE_VALUE]
    assert stand_in(torch.empty((), dtype=torch.bool, device="meta"), large=True).item() is True
    assert stand_in(torch.empty(1, dtype=torch.int64, device="meta"), large=True).tolist() == [0]


def test_what_values_are_taken_as_is_said_as_they_are() -> None:
    number, mask = torch.empty(2, device="meta"), torch.empty((), dtype=torch.bool, device="meta")
    assert [stand_in_word(number, large) for large in (False, True)] == ["zero", "large"]
    assert [stand_in_word(mask, large) for large in (False, True)] == ["zero", "true"]
