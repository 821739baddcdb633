"""What is no product: norms, activations, softmax, resampling and FFTs have other FLOPs; moving data has only bytes."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.counting.formulas.table import FORMULAS, formula_for
from diffprof.record.profile import Cost
from tests.counting.formulas.counted import on_real, on_virtual

quick = settings(max_examples=10, deadline=None)
size = st.integers(2, 6)

# (function, FLOPs for each output element, kind). The factors are those of `formulas.PER_ELEMENT`, worked out there.
FOR_EACH_OUTPUT: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], int, str]] = {
    "layer norm": (lambda x: F.layer_norm(x, x.shape[-1:]), 7, "norm"),
    "group norm": (lambda x: F.group_norm(x, 2), 7, "norm"),
    "batch norm of stored statistics": (
        lambda x: F.batch_norm(x, torch.zeros(4, device=x.device), torch.ones(4, device=x.device)), 4, "norm",
    ),
    "softmax": (lambda x: x.softmax(-1), 5, "softmax"),
    "silu": (F.silu, 4, "activation"),
    "gelu": (F.gelu, 8, "activation"),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), 8, "activation"),
    "sigmoid": (torch.sigmoid, 3, "activation"),
    "relu": (F.relu, 1, "activation"),
    "tanh": (torch.tanh, 1, "activation"),
    "mish": (F.mish, 6, "activation"),
    "a sum of two": (lambda x: x + x, 1, "elementwise"),
    "a product by a number": (lambda x: 2 * x, 1, "elementwise"),
    "a product in place": (lambda x: x.clone().mul_(2), 1, "elementwise"),
    "an exponential": (torch.exp, 1, "elementwise"),
    "a comparison": (lambda x: x > 0, 1, "elementwise"),
    "bilinear interpolation": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), 8, "resampling"),
    "bicubic interpolation": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), 32, "resampling"),
    "average of 2x2": (lambda x: F.avg_pool2d(x, 2), 4, "resampling"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "flops", "kind"), FOR_EACH_OUTPUT.values(), ids=FOR_EACH_OUTPUT.keys())
@quick
@given(batch=size, height=size, width=size)
def test_flops_for_each_output_element(
    function: Callable[[torch.Tensor], torch.Tensor], flops: int, kind: str, batch: int, height: int, width: int
) -> None:
    x = torch.ones(batch, 4, height, width)
    expected = flops * function(x).numel()
    for cost in (on_virtual(function, x), on_real(function, x)):
        assert (cost.work.macs, cost.work.other_flops) == (0, expected)
        assert by_kind(cost) == {kind: expected}


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (torch.sum, 1),
        (torch.mean, 1),
        (lambda x: x.amax(-1), 1),
        (lambda x: x.var(-1), 3),
        (torch.linalg.vector_norm, 2),
        (lambda x: x.cumsum(-1), 1),
        (lambda x: x.argmax(-1), 1),
    ],
)
def test_flops_for_each_input_element_of_a_reduction(function: Any, flops: int) -> None:
    x = torch.ones(2, 3, 5)
    for cost in (on_virtual(function, x), on_real(function, x)):
        assert (cost.work.macs, cost.work.other_flops) == (0, flops * 30)
        assert by_kind(cost) == {"reduction": flops * 30}


@quick
@given(batch=size, exponent=st.integers(1, 5))
def test_a_fourier_transform_is_5_n_log_n(batch: int, exponent: int) -> None:
    n = 2**exponent
    x = torch.ones(batch, n, dtype=torch.complex64)
    for cost in (on_virtual(torch.fft.fft, x), on_real(torch.fft.fft, x)):
        assert by_kind(cost)["fourier"] == 5 * batch * n * exponent


def test_the_two_dimensional_transform_of_freeu_counts_both_dimensions() -> None:
    x = torch.ones(1, 3, 8, 4)
    cost = on_virtual(lambda x: torch.fft.fftn(x, dim=(-2, -1)), x)
    assert by_kind(cost)["fourier"] == 5 * 3 * 32 * int(log2(32))


def by_kind(cost: Cost) -> dict[str, int]:
    found: dict[str, int] = {}
    for operation in cost.operations:
        if operation.work.other_flops:
            found[operation.kind] = found.get(operation.kind, 0) + operation.work.other_flops
    return found


def test_an_embedding_reads_only_the_rows_it_gathers() -> None:
    """77 tokens of a table of 49,408 rows: 77 rows of 768 floats and the 77 numbers."""
    table, tokens = torch.empty(49408, 768), torch.zeros(1, 77, dtype=torch.int64)
    cost = on_virtual(lambda table, tokens: F.embedding(tokens, table), table, tokens)
    assert (cost.work.macs, cost.work.other_flops) == (0, 0)
    assert cost.work.written_bytes == 77 * 768 * 4
    assert cost.work.read_bytes == 77 * 768 * 4 + 77 * 8
    assert [operation.kind for operation in cost.operations] == ["embedding"]


VIEWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "view": lambda x: x.view(6, 4),
    "reshape of what lies in order": lambda x: x.reshape(2, 12),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "slice": lambda x: x[:, 1:, ::2],
    "chunk": lambda x: x.chunk(2, dim=-1),
    "split": lambda x: x.split([1, 3], dim=-1),
    "unsqueeze and expand": lambda x: x.unsqueeze(0).expand(5, -1, -1, -1),
    "unbind": lambda x: x.unbind(1),
    "detach": lambda x: x.detach(),
    "flatten": lambda x: x.flatten(1),
}


@pytest.mark.parametrize("function", VIEWS.values(), ids=VIEWS.keys())
def test_a_view_moves_nothing(function: Callable[[torch.Tensor], Any]) -> None:
    x = torch.ones(2, 3, 4)
    for cost in (on_virtual(function, x), on_real(function, x)):
        assert cost.operations
        assert cost.work.macs == cost.work.other_flops == cost.work.moved_bytes == 0


COPIES: dict[str, tuple[Callable[[torch.Tensor], Any], int, int]] = {
    "clone": (lambda x: x.clone(), 96, 96),
    "contiguous of a transpose": (lambda x: x.transpose(0, 1).contiguous(), 96, 96),
    "half precision": (lambda x: x.half(), 96, 48),
    "cat with itself": (lambda x: torch.cat([x, x]), 192, 192),
    "padding by one on each side of a row": (lambda x: F.pad(x, (1, 1)), 96, 144),
    "nearest interpolation": (lambda x: F.interpolate(x, scale_factor=2), 96, 192),
    "an expanded row, stored once": (lambda x: x[:1, :1, :1].expand(2, 3, 4).clone(), 4, 96),
}


@pytest.mark.parametrize(("function", "read", "written"), COPIES.values(), ids=COPIES.keys())
def test_moving_data_has_bytes_and_no_flops(function: Callable[[torch.Tensor], Any], read: int, written: int) -> None:
    x = torch.ones(2, 3, 4)
    for cost in (on_virtual(function, x), on_real(function, x)):
        assert (cost.work.macs, cost.work.other_flops) == (0, 0)
        assert (cost.work.read_bytes, cost.work.written_bytes) == (read, written)


def test_an_operation_without_a_formula_is_named_and_not_known() -> None:
    library = torch.library.Library("diffprof_test", "FRAGMENT")
    library.define("mystery(Tensor x) -> Tensor")
    library.impl("mystery", lambda x: x.clone(), "CompositeExplicitAutograd")
    library.impl("mystery", lambda x: torch.empty_like(x), "Meta")
    for cost in (
        on_virtual(torch.ops.diffprof_test.mystery, torch.ones(5)),
        on_real(torch.ops.diffprof_test.mystery, torch.ones(5)),
    ):
        (operation,) = [operation for operation in cost.operations if not operation.known]
        assert (operation.name, operation.kind, operation.count) == ("mystery", "unknown", 1)
        assert operation.work.moved_bytes == 40


@pytest.mark.parametrize("name", sorted(name for name in FORMULAS if hasattr(torch.ops.aten, name)))
def test_every_rule_is_the_one_that_its_operation_finds(name: str) -> None:
    packet = getattr(torch.ops.aten, name)
    assert all(formula_for(getattr(packet, overload)) is FORMULAS[name] for overload in packet.overloads())


def test_every_rule_is_for_an_operation_that_torch_has() -> None:
    assert not [name for name in FORMULAS if not hasattr(torch.ops.aten, name)]
