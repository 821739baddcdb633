"""Every tool on one small model whose parts are worked out by hand."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F

from diffprof.crosscheck import counters
from diffprof.crosscheck.one_call import OneCall, RecordedCall
from diffprof.crosscheck.result import ATTENTION, CONVOLUTIONS, MATRIX_PRODUCTS, NORMS, SOFTMAX, SQUARED

BATCH, HEADS, SIZE = 2, 4, 8
WIDTH = HEADS * SIZE
QUERIES, KEYS = 36, 5
LINEAR_MACS = BATCH * QUERIES * WIDTH * WIDTH + BATCH * KEYS * WIDTH * WIDTH
CONVOLUTION_MACS = BATCH * WIDTH * QUERIES * 3 * 9
ATTENTION_MACS = 2 * BATCH * HEADS * QUERIES * KEYS * SIZE
NORM_ELEMENTS = BATCH * QUERIES * WIDTH


class CrossAttention(torch.nn.Module):
    """A 3x3 convolution of a 6x6 picture, a norm, and attention of its 36 pixels to 5 words."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, WIDTH, 3, padding=1)
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.query = torch.nn.Linear(WIDTH, WIDTH)
        self.key = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, picture: torch.Tensor, words: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        pixels = self.norm(self.conv(picture).flatten(2).transpose(1, 2))
        query, key = (
            tokens.unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for tokens in (self.query(pixels), self.key(words))
        )
        return {"sample": F.scaled_dot_product_attention(query, key, key, scale=scale)}


def one_call(device: str = "cpu") -> tuple[OneCall, Sequence[torch.Tensor]]:
    picture, words = torch.randn(BATCH, 3, 6, 6), torch.randn(BATCH, KEYS, WIDTH)
    caught = RecordedCall("model", "forward", (), (picture,), {"words": words, "scale": 0.5})
    call = OneCall(CrossAttention().to(device), caught)
    return call, call.tensors(device)


def count_with(count: Callable[..., dict[str, int]], package: str, device: str = "cpu") -> dict[str, int]:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return count(*one_call(device))


def test_diffprof_counts_all_three_and_nothing_else() -> None:
    parts, activation_bytes = counters.with_diffprof(*one_call("meta"))
    assert parts == {MATRIX_PRODUCTS: LINEAR_MACS, CONVOLUTIONS: CONVOLUTION_MACS, ATTENTION: ATTENTION_MACS}
    assert activation_bytes > 0


def test_thop_misses_attention_and_counts_the_norm() -> None:
    parts = count_with(counters.with_thop, "thop")
    # Two for each element, and as many again for weight and bias.
    assert parts == {MATRIX_PRODUCTS: LINEAR_MACS, CONVOLUTIONS: CONVOLUTION_MACS, NORMS: 4 * NORM_ELEMENTS}


def test_the_guides_patch_counts_cross_attention_as_n_squared() -> None:
    parts = count_with(counters.with_thop_and_attention, "thop")
    scores = BATCH * HEADS * QUERIES * QUERIES
    assert parts[ATTENTION] + parts[SQUARED] == 2 * scores * SIZE
    assert parts[ATTENTION] == ATTENTION_MACS
    assert parts[SOFTMAX] == scores


def test_the_guides_patch_is_gone_afterwards() -> None:
    before = F.scaled_dot_product_attention
    count_with(counters.with_thop_and_attention, "thop")
    assert F.scaled_dot_product_attention is before


def test_calflops_misses_attention() -> None:
    parts = count_with(counters.with_calflops, "calflops")
    assert parts == {MATRIX_PRODUCTS: LINEAR_MACS, CONVOLUTIONS: CONVOLUTION_MACS}


def test_fvcore_misses_attention_and_counts_the_norm() -> None:
    parts = count_with(counters.with_fvcore, "fvcore")
    # Five for each element: its own estimate of a norm with weight and bias.
    assert parts == {MATRIX_PRODUCTS: LINEAR_MACS, CONVOLUTIONS: CONVOLUTION_MACS, NORMS: 5 * NORM_ELEMENTS}


def test_flop_counter_on_meta_sees_attention_as_products() -> None:
    parts = count_with(counters.with_flop_counter, "torch", "meta")
    assert parts == {MATRIX_PRODUCTS: LINEAR_MACS + ATTENTION_MACS, CONVOLUTIONS: CONVOLUTION_MACS}
