"""Attention that is written out as two matrix products around a softmax is recognised."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.record.profile import Attention, Cost
from tests.counting.formulas.counted import kinds, macs_by_torch, on_real, on_virtual

size = st.integers(1, 6)


several = st.integers(2, 6)  # a product over a size of 1 is no sum, and einsum makes none of it


def only_attention(cost: Cost) -> Attention:
    (attention,) = cost.attention
    return attention


def heads(batch: int, count: int, tokens: int, width: int) -> torch.Tensor:
    return torch.ones(batch, count, tokens, width)


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
def test_attention_written_out_by_hand_is_recognised(
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


def test_a_softmax_without_a_product_before_it_is_not_attention() -> None:
    def gate(x: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x.softmax(-1), value)

    cost = on_virtual(gate, torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    assert kinds(cost) == {"matmul": 2 * 3 * 4 * 5}
    assert cost.attention == ()


def test_products_without_a_softmax_are_not_attention() -> None:
    cost = on_virtual(lambda a, b: a @ (b @ a), torch.ones(2, 3, 3), torch.ones(2, 3, 3))
    assert kinds(cost) == {"matmul": 2 * 2 * 27}
    assert cost.attention == ()


def test_two_attentions_in_a_row_are_both_recognised() -> None:
    def twice(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return written_out_with_matmul(written_out_with_matmul(query, key, value), key, value)

    cost = on_virtual(twice, *[heads(1, 2, 3, 4)] * 3)
    assert kinds(cost) == {"attention": 2 * 2 * (2 * 3 * 3 * 4)}
    assert only_attention(cost).count == 2
