"""Matrix products cost what the textbook says: linear layers, matmuls, einsum, experts and linear attention."""

from __future__ import annotations

from math import prod

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting.formulas.counted import macs_three_ways, on_real, on_virtual, other_flops_both_ways
from tests.counting.sample_components import Experts

size = st.integers(1, 6)
quick = settings(max_examples=15, deadline=None)


@quick
@given(leading=st.lists(size, min_size=0, max_size=3), inner=size, out=size)
def test_a_linear_layer_is_every_output_times_the_input_features(leading: list[int], inner: int, out: int) -> None:
    x, weight = torch.ones(*leading, inner), torch.ones(out, inner)
    assert macs_three_ways(F.linear, x, weight) == {prod(leading) * inner * out}
    assert other_flops_both_ways(F.linear, x, weight) == {0}


@quick
@given(leading=st.lists(size, min_size=1, max_size=3), inner=size, out=size)
def test_a_bias_is_one_other_flop_for_each_output(leading: list[int], inner: int, out: int) -> None:
    tensors = torch.ones(*leading, inner), torch.ones(out, inner), torch.ones(out)
    assert macs_three_ways(F.linear, *tensors) == {prod(leading) * inner * out}
    assert other_flops_both_ways(F.linear, *tensors) == {prod(leading) * out}


def test_a_linear_layer_on_a_transposed_input_costs_the_same() -> None:
    x, weight = torch.ones(2, 3, 5), torch.ones(4, 3)
    assert macs_three_ways(lambda x, weight: F.linear(x.transpose(1, 2), weight), x, weight) == {2 * 5 * 3 * 4}


@quick
@given(m=size, k=size, n=size)
def test_a_matrix_product_is_rows_times_inner_times_columns(m: int, k: int, n: int) -> None:
    assert macs_three_ways(torch.mm, torch.ones(m, k), torch.ones(k, n)) == {m * k * n}


@quick
@given(batch=size, m=size, k=size, n=size)
def test_a_batched_product_is_as_many_products(batch: int, m: int, k: int, n: int) -> None:
    assert macs_three_ways(torch.bmm, torch.ones(batch, m, k), torch.ones(batch, k, n)) == {batch * m * k * n}


@quick
@given(batch=size, m=size, k=size, n=size)
def test_an_added_matrix_is_one_other_flop_for_each_output(batch: int, m: int, k: int, n: int) -> None:
    matrices = torch.ones(m, n), torch.ones(m, k), torch.ones(k, n)
    assert macs_three_ways(torch.addmm, *matrices) == {m * k * n}
    assert other_flops_both_ways(torch.addmm, *matrices) == {m * n}
    batches = torch.ones(batch, m, n), torch.ones(batch, m, k), torch.ones(batch, k, n)
    assert macs_three_ways(torch.baddbmm, *batches) == {batch * m * k * n}
    assert other_flops_both_ways(torch.baddbmm, *batches) == {batch * m * n}


@quick
@given(outer=size, inner=size, m=size, k=size, n=size, broadcast=st.sampled_from(["none", "left", "right", "both"]))
def test_matmul_repeats_the_product_over_broadcast_batches(
    outer: int, inner: int, m: int, k: int, n: int, broadcast: str
) -> None:
    left = (1 if broadcast in ("left", "both") else outer, inner, m, k)
    right = (outer, 1 if broadcast in ("right", "both") else inner, k, n)
    assert macs_three_ways(torch.matmul, torch.ones(left), torch.ones(right)) == {outer * inner * m * k * n}


@pytest.mark.parametrize(
    ("left", "right", "macs"),
    [
        ((4,), (4,), 4),
        ((3, 4), (4,), 3 * 4),
        ((4,), (4, 5), 4 * 5),
        ((2, 3, 4), (4,), 2 * 3 * 4),
        ((4,), (2, 4, 5), 2 * 4 * 5),
        ((2, 3, 4), (4, 5), 2 * 3 * 4 * 5),
    ],
)
def test_matmul_with_vectors_and_matrices(left: tuple[int, ...], right: tuple[int, ...], macs: int) -> None:
    # torch's counter has no formula for vectors (dot, mv), so only our two counts are compared.
    tensors = torch.ones(left), torch.ones(right)
    assert {on_virtual(torch.matmul, *tensors).work.macs, on_real(torch.matmul, *tensors).work.macs} == {macs}


@quick
@given(b=size, i=size, j=size, k=st.integers(2, 6), h=size)  # over a size of 1 torch sums nothing
def test_einsum_is_the_product_of_all_the_letters(b: int, i: int, j: int, k: int, h: int) -> None:
    heads = torch.ones(b, i, h, k), torch.ones(b, j, h, k)
    assert macs_three_ways(lambda q, k: torch.einsum("bihd,bjhd->bhij", q, k), *heads) == {b * h * i * j * k}
    matrices = torch.ones(b, i, k), torch.ones(k, j)
    assert macs_three_ways(lambda x, w: torch.einsum("bik,kj->bij", x, w), *matrices) == {b * i * k * j}


def test_an_einsum_that_sums_nothing_multiplies_elements_only() -> None:
    x = torch.ones(2, 3)
    cost = on_virtual(lambda x: torch.einsum("ij,ij->ij", x, x), x)
    assert (cost.work.macs, cost.work.other_flops) == (0, 6)


@quick
@given(batch=size, heads=size, tokens=st.integers(1, 9), d=size)
def test_linear_attention_grows_with_the_tokens_not_with_their_square(
    batch: int, heads: int, tokens: int, d: int
) -> None:
    def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Queries meet the d x (d+1) summary of keys and values; the row of ones gives the normaliser."""
        value = F.pad(value, (0, 0, 0, 1), value=1.0)
        summary = torch.matmul(value, key.transpose(-1, -2))
        out = torch.matmul(summary, query)
        return out[:, :, :-1] / (out[:, :, -1:] + 1e-6)

    tensors = [torch.ones(batch, heads, d, tokens)] * 3
    assert macs_three_ways(attend, *tensors) == {2 * batch * heads * tokens * d * (d + 1)}


@quick
@given(tokens=st.integers(1, 20), width=size, hidden=size, experts=st.integers(2, 5), data=st.data())
def test_experts_cost_what_the_chosen_ones_cost(
    tokens: int, width: int, hidden: int, experts: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.integers(1, experts))
    layer = Experts(width, hidden, experts, chosen)
    expected = tokens * width * experts + 2 * tokens * chosen * width * hidden
    x = torch.randn(tokens, width)
    assert macs_three_ways(layer, x) | {on_virtual_module(layer, x)} == {expected}


def on_virtual_module(module: torch.nn.Module, x: torch.Tensor) -> int:
    """The MACs of a module whose weights are virtual too."""
    return on_virtual(module.to("meta"), x).work.macs


@quick
@given(groups=size, rows=size, k=size, n=size)
def test_a_grouped_product_is_each_row_times_its_own_matrix(groups: int, rows: int, k: int, n: int) -> None:
    """The kernel of mixtures of experts: the rows are sorted by expert, `offsets` says where each ends."""
    aligned = 8  # the kernel wants rows of whole 16-byte words
    x = torch.ones(groups * rows, k * aligned, dtype=torch.bfloat16)
    weights = torch.ones(groups, n * aligned, k * aligned, dtype=torch.bfloat16).transpose(-2, -1)
    offsets = torch.arange(1, groups + 1, dtype=torch.int32) * rows
    function = torch.nn.functional.grouped_mm
    expected = groups * rows * k * aligned * n * aligned
    cost = on_virtual(lambda x, weights, offsets: function(x, weights, offs=offsets), x, weights, offsets)
    assert cost.work.macs == expected
