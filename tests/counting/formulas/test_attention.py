"""Attention is N_q x N_k x (head size + value size) for each head, whoever computes it and however it is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.record.profile import Attention, Cost
from tests.counting.formulas.counted import kinds, macs_by_torch, macs_three_ways, on_real, on_virtual

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
def test_a_mask_is_told_and_changes_no_product(options: dict[str, Any], causal: bool, masked: bool) -> None:
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


def test_attention_takes_no_memory_for_the_scores() -> None:
    """Fused kernels never hold the N x N scores; only the result is written."""
    tensors = [heads(1, 1, 4096, 8)] * 3
    cost = on_virtual(F.scaled_dot_product_attention, *tensors)
    assert cost.work.written_bytes == 4096 * 8 * 4
    assert cost.work.read_bytes == 3 * 4096 * 8 * 4
    assert cost.peak_live_bytes == 4096 * 8 * 4


def written_out_with_matmul(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    return scores.softmax(-1) @ value


def written_out_with_baddbmm(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """As diffusers' `AttnProcessor` does, heads in the batch."""
    query, key, value = (tensor.flatten(0, 1) for tensor in (query, key, value))
    nothing = torch.empty(query.shape[0], query.shape[1], key.shape[1], dtype=query.dtype, device=query.device)
    scores = torch.baddbmm(nothing, query, key.transpose(-1, -2), beta=0, alpha=query.shape[-1] ** -0.5)
    return torch.bmm(scores.softmax(-1), value)


def written_out_with_einsum(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = torch.einsum("bhid,bhjd->bhij", query, key)
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(dim=-1), value)


def written_out_with_a_bias(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """As T5 does: a position bias, softmax in float32, and no scaling."""
    scores = torch.matmul(query, key.transpose(3, 2))
    scores += torch.zeros(1, 1, query.shape[-2], key.shape[-2], device=query.device)
    weights = F.softmax(scores.float(), dim=-1).type_as(scores)
    return torch.matmul(F.dropout(weights, p=0.1, training=False), value)


WAYS = (written_out_with_matmul, written_out_with_baddbmm, written_out_with_einsum, written_out_with_a_bias)


@pytest.mark.parametrize("attend", WAYS, ids=lambda way: way.__name__.replace("_", " "))
@settings(max_examples=8, deadline=None)
@given(b=size, h=size, queries=several, keys=several, d=several, value=size)
def test_attention_that_is_written_out_is_recognised(
    attend: Any, b: int, h: int, queries: int, keys: int, d: int, value: int
) -> None:
    tensors = heads(b, h, queries, d), heads(b, h, keys, d), heads(b, h, keys, value)
    expected = b * h * queries * keys * (d + value)
    assert macs_by_torch(attend, *tensors) == expected
    for cost in (on_virtual(attend, *tensors), on_real(attend, *tensors)):
        assert kinds(cost) == {"attention": expected}
        attention = only_attention(cost)
        assert attention.macs == expected
        assert (attention.query_tokens, attention.key_tokens) == (queries, keys)
        assert attention.batch * attention.heads == b * h


def test_a_softmax_without_a_product_before_it_is_no_attention() -> None:
    def gate(x: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x.softmax(-1), value)

    cost = on_virtual(gate, torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    assert kinds(cost) == {"matmul": 2 * 3 * 4 * 5}
    assert cost.attention == ()


def test_products_without_a_softmax_are_no_attention() -> None:
    cost = on_virtual(lambda a, b: a @ (b @ a), torch.ones(2, 3, 3), torch.ones(2, 3, 3))
    assert kinds(cost) == {"matmul": 2 * 2 * 27}
    assert cost.attention == ()


def test_two_attentions_in_a_row_are_both_recognised() -> None:
    def twice(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return written_out_with_matmul(written_out_with_matmul(query, key, value), key, value)

    cost = on_virtual(twice, *[heads(1, 2, 3, 4)] * 3)
    assert kinds(cost) == {"attention": 2 * 2 * (2 * 3 * 3 * 4)}
    assert only_attention(cost).count == 2
