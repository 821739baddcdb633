"""Which inputs of an operation lie in memory in another order than the one in which they are read."""

from __future__ import annotations

import torch

from diffprof.counting.formulas import kinds
from diffprof.counting.operations.layouts import strided_bytes

ROWS = torch.empty(8, 32, device="meta")
ACROSS = torch.empty(32, 8, device="meta").t()


def test_a_transposed_input_of_an_elementwise_operation_is_read_across() -> None:
    assert strided_bytes(kinds.ELEMENTWISE, [ROWS, ACROSS], [ROWS]) == 8 * 32 * 4


def test_inputs_that_lie_like_the_output_are_not() -> None:
    assert strided_bytes(kinds.ELEMENTWISE, [ROWS, ROWS], [ROWS]) == 0
    assert strided_bytes(kinds.ELEMENTWISE, [ACROSS, ACROSS], [ACROSS]) == 0


def test_one_value_for_a_whole_row_is_not_read_across() -> None:
    column = torch.empty(8, 1, device="meta")
    assert strided_bytes(kinds.ELEMENTWISE, [ROWS, column], [ROWS]) == 0
    assert strided_bytes(kinds.ELEMENTWISE, [ROWS, torch.empty(32, device="meta")], [ROWS]) == 0


def test_heads_that_change_places_with_tokens_stay_in_their_rows() -> None:
    heads = torch.empty(2, 16, 4, 64, device="meta").transpose(1, 2)
    assert strided_bytes(kinds.MOVEMENT, [heads], [torch.empty(2, 4, 16, 64, device="meta")]) == 0


def test_norms_and_linear_layers_need_the_last_dimension_together() -> None:
    for kind in (kinds.NORM, kinds.LINEAR):
        assert strided_bytes(kind, [ACROSS], [ROWS]) == 8 * 32 * 4
        assert strided_bytes(kind, [ROWS], [ROWS]) == 0


def test_products_take_any_order() -> None:
    assert strided_bytes(kinds.MATMUL, [ACROSS, ROWS], [ROWS]) == 0
