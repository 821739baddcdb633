"""Attention is N_q x N_k x (head size + value size) for each head, whoever computes it and however it is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.record.profile import Attention, Cost
from tests.counting.formulas.counted import macs_three_ways, on_real, on_virtual

size = st.integers(1, 6)
several = st.integers(2, 6)  # a product over a size of 1 is no sum, and einsum makes none of it
quick = settings(max_examples=15, deadline=None)


def only_attention(cost: Cost) -> Attention:
    (attention,) = cost.attention
    return attention


def heads(batch: int, count: int, tokens: int, width: int) -> torch.Tensor:
    return torch.ones(batch, count, tokens, width)


@quick
@given(b=size, h=size, n=size, d=size)
def test_self_attention_is_two_products_of_tokens_squared(b: int, h: int, n: int, d: int) -> None:
    tensors = [heads(b, h, n, d)] * 3
    assert macs_three_ways(F.scaled_dot_product_attention, *tensors) == {2 * b * h * n * n * d}


@quick
@given(b=size, h=size, queries=size, keys=size, d=size, value=size)
def test_another_key_length_and_value_size_count_as_they_are(
    b: int, h: int, queries: int, keys: int, d: int, value: int
) -> None:
    tensors = heads(b, h, queries, d), heads(b, h, keys, d), heads(b, h, keys, value)
    expected = b * h * queries * keys * (d + value)
    assert macs_three_ways(F.scaled_dot_product_attention, *tensors) == {expected}
    attention = only_attention(on_virtual(F.scaled_dot_product_attention, *tensors))
    assert attention.qk_macs == b * h * queries * keys * d
    assert attention.av_macs == b * h * queries * keys * value
    assert attention.softmax_flops == 6 * b * h * queries * keys
    assert (attention.query_tokens, attention.key_tokens, attention.heads) == (queries, keys, h)
    assert (attention.head_size, attention.value_size, attention.batch) == (d, value, b)
    assert attention.relation == ("self" if queries == keys else "cross")


@quick
@given(b=size, key_heads=st.integers(1, 3), group=st.integers(2, 4), n=size, d=size)
def test_fewer_key_heads_are_repeated_for_their_group_of_query_heads(
    b: int, key_heads: int, group: int, n: int, d: int
) -> None:
    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)

    tensors = heads(b, key_heads * group, n, d), heads(b, key_heads, n, d), heads(b, key_heads, n, d)
    assert macs_three_ways(attend, *tensors) == {2 * b * key_heads * group * n * n * d}
    attention = only_attention(on_virtual(attend, *tensors))
    assert (attention.heads, attention.key_heads) == (key_heads * group, key_heads)


@pytest.mark.parametrize(
    ("options", "causal", "masked"),
    [({}, False, False), ({"is_causal": True}, True, False), ({"attn_mask": torch.ones(5, 5)}, False, True)],
    ids=["plain", "causal", "masked"],
)
def test_a_mask_is_recorded_and_changes_no_product(options: dict[str, Any], causal: bool, masked: bool) -> None:
    """Dense kernels are given the whole N_q x N_k; a mask says what to ignore of it."""
    tensors = [heads(2, 3, 5, 4)] * 3

    def attend(*tensors: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(*tensors, **options)

    assert macs_three_ways(attend, *tensors) == {2 * 2 * 3 * 5 * 5 * 4}
    for cost in (on_virtual(attend, *tensors), on_real(attend, *tensors)):
        attention = only_attention(cost)
        assert (attention.causal, attention.masked) == (causal, masked)


def test_attention_of_three_dimensions_has_one_head_for_each_of_the_first() -> None:
    tensors = [torch.ones(3, 5, 4)] * 3
    assert macs_three_ways(F.scaled_dot_product_attention, *tensors) == {2 * 3 * 5 * 5 * 4}


def test_broadcast_batches_are_all_counted() -> None:
    tensors = heads(4, 2, 5, 3), heads(1, 2, 7, 3), heads(1, 2, 7, 3)
    assert on_virtual(F.scaled_dot_product_attention, *tensors).work.macs == 4 * 2 * 5 * 7 * (3 + 3)
