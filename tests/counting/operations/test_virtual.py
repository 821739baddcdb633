"""Operations on virtual tensors give virtual results; a value that depends on weights is a recorded assumption."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.stand_in_values import LARGEST_PICTURE, LARGEST_REAL
from diffprof.counting.operations.virtual import VirtualMode, _in_memory_order
from diffprof.record.tensors import OperationShapes
from tests.counting.formulas.counted import on_virtual
from tests.counting.sample_components import Experts


class Elsewhere(torch.Tensor):
    """Claims to be on a GPU; a copy in main memory is an ordinary tensor."""

    is_cpu = False
    is_meta = False

    def cpu(self) -> torch.Tensor:  # type: ignore[override]
        return torch.ones(2)


def test_real_tensors_are_copied_from_the_device_and_weights_are_not() -> None:
    table, weight = torch.Tensor._make_subclass(Elsewhere, torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    mode = VirtualMode(OperationRecorder(), frozenset({id(weight)}), on_accelerator=True)
    fetched = mode._fetch({"a": (table, [weight, 3])})
    assert type(fetched["a"][0]) is torch.Tensor
    assert fetched["a"][0].tolist() == [1, 1]
    assert fetched["a"][1][0] is weight
    assert fetched["a"][1][1] == 3


def test_a_choice_of_experts_is_shared_out_equally() -> None:
    """8 tokens, 2 of 4 experts each: every expert gets 4 rows."""
    layer = Experts(width=3, hidden=5, experts=4, chosen=2).to("meta")
    rows = [
        op
        for op in on_virtual(layer, torch.ones(8, 3)).operations
        if op.kind == "linear" and (5, 3) in op.shapes.inputs
    ]
    assert [(op.shapes, op.count) for op in rows] == [(OperationShapes(((4, 3), (5, 3)), ((4, 5),)), 4)]


@pytest.fixture
def mode() -> VirtualMode:
    return VirtualMode(OperationRecorder())


def test_a_result_is_virtual_if_any_input_is_and_else_is_computed(mode: VirtualMode) -> None:
    virtual, real = torch.empty(2, 3, device="meta"), torch.full((3,), 2.0)
    with mode:
        product, square = virtual * real, real * real
    assert (product.is_meta, tuple(product.shape)) == (True, (2, 3))
    assert square.tolist() == [4, 4, 4]
    assert mode.recorder.assumptions == {}


def test_a_weight_of_a_live_pipeline_counts_as_virtual() -> None:
    weight = torch.ones(3)
    with VirtualMode(OperationRecorder(), frozenset({id(weight)})):
        assert (weight + 1).is_meta


def test_a_value_that_depends_on_weights_is_read_as_zero_and_the_assumption_is_recorded(mode: VirtualMode) -> None:
    virtual = torch.empty((), device="meta")
    with mode:
        assert virtual.item() == 0
    (assumption,) = mode.recorder.assumptions
    assert assumption.endswith("that depend on weights: taken as zero")


def test_a_mask_that_depends_on_weights_selects_every_element(mode: VirtualMode) -> None:
    values, mask = torch.empty(2, 3, device="meta"), torch.empty(2, 3, dtype=torch.bool, device="meta")
    with mode:
        assert tuple(values[mask].shape) == (6,)
    assert list(mode.recorder.assumptions) == ["a mask of shape (2, 3) that depends on weights selects every element"]


def test_a_small_factory_on_the_meta_device_is_real_and_a_large_one_is_not(mode: VirtualMode) -> None:
    with mode:
        small, large = torch.zeros(4, device="meta"), torch.zeros(LARGEST_REAL + 1, device="meta")
    assert small.tolist() == [0, 0, 0, 0]
    assert large.is_meta


def test_black_frames_of_a_real_picture_take_no_memory_when_they_are_many(mode: VirtualMode) -> None:
    picture = torch.ones(3, 4)
    with mode:
        few, many = picture.new_zeros(2, 3, 4), picture.new_zeros(LARGEST_REAL, 3, 4)
    assert (few.is_meta, few.sum().item()) == (False, 0)
    assert (many.is_meta, tuple(many.shape)) == (True, (LARGEST_REAL, 3, 4))


def test_of_a_long_film_no_second_one_is_made(mode: VirtualMode) -> None:
    film = torch.zeros(1).expand(LARGEST_PICTURE + 1)
    with mode:
        brighter, product = film * 2, torch.full((3,), 2.0) * 2
    assert (brighter.is_meta, brighter.shape) == (True, film.shape)
    assert product.tolist() == [4, 4, 4]


@pytest.mark.parametrize("extreme", [torch.min, torch.max])
def test_the_extreme_of_a_film_is_found_where_it_lies(extreme: Any, mode: VirtualMode) -> None:
    film = torch.arange(120.0).reshape(2, 4, 5, 3).permute(0, 3, 1, 2)
    with mode:
        found = extreme(film)
    assert found.item() == extreme(film).item()
    assert _in_memory_order(film).is_contiguous()
    assert _in_memory_order(film).data_ptr() == film.data_ptr()
