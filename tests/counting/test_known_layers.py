"""Layers of other libraries whose kernels are no PyTorch operations are counted as what they compute."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.known_layers import LAYERS, known_layer
from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.record.profile import Cost


class Refusing(torch.nn.Module):
    """A layer with the attributes that the real one documents, whose own code must not run."""

    def __init__(self, library: str, name: str, **attributes: Any) -> None:
        super().__init__()
        self.__class__ = type(name, (Refusing,), {"__module__": f"{library}.layers"})
        for key, value in attributes.items():
            setattr(self, key, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a kernel was launched on a tensor without data")


def stored(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.empty(shape, dtype=dtype), requires_grad=False)


def cost_of(module: torch.nn.Module, *args: Any, **kwargs: Any) -> tuple[Cost, torch.Tensor]:
    compute = known_layer(type(module))
    assert compute is not None
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    with torch.no_grad(), mode, FunctionMode(mode), recorder.component_call("Layer") as call:
        result = compute(recorder, module, args, kwargs)
    return call.cost(0), result


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bfloat16, device="meta")


def test_svdquant_is_a_product_in_4_bits_and_a_branch_of_low_rank() -> None:
    packed, scales = stored(96, 32, dtype=torch.int8), stored(1, 96)
    down, up = stored(64, 16), stored(96, 16)
    layer = Refusing(
        "nunchaku", "SVDQW4A4Linear", in_features=64, out_features=96, rank=16,
        qweight=packed, wscales=scales, proj_down=down, proj_up=up,
    )  # fmt: skip
    cost, result = cost_of(layer, meta(2, 10, 64))
    tokens = 2 * 10
    assert cost.work.macs == tokens * (64 * 96 + 64 * 16 + 16 * 96)
    weights = 96 * 32 + 96 * 2 + 2 * (64 * 16 + 96 * 16)
    assert cost.work.read_bytes == weights + 2 * tokens * (64 + 64 + 16)
    assert result.shape == (2, 10, 96)


@pytest.mark.parametrize("library, name", [("nunchaku", "AWQW4A16Linear"), ("transformer_engine", "Linear")])
def test_a_linear_layer_reads_the_bytes_that_it_holds(library: str, name: str) -> None:
    layer = Refusing(library, name, in_features=8, out_features=4, weight=stored(4, 8, dtype=torch.uint8))
    cost, result = cost_of(layer, meta(3, 8))
    assert (cost.work.macs, cost.work.read_bytes) == (3 * 8 * 4, 3 * 8 * 2 + 4 * 8)
    assert result.shape == (3, 4)


def test_a_normalised_linear_layer_has_the_macs_of_its_product() -> None:
    layer = Refusing("transformer_engine", "LayerNormLinear", in_features=8, out_features=4, weight=stored(4, 8))
    cost, result = cost_of(layer, meta(3, 8))
    assert (cost.work.macs, result.shape) == (3 * 8 * 4, (3, 4))
    assert cost.work.other_flops > 0


def test_a_feed_forward_layer_has_the_macs_of_both_products() -> None:
    layer = Refusing("transformer_engine", "LayerNormMLP", fc1_weight=stored(32, 8), fc2_weight=stored(8, 32))
    cost, result = cost_of(layer, meta(3, 8))
    assert (cost.work.macs, result.shape) == (3 * (8 * 32 + 32 * 8), (3, 8))


@pytest.mark.parametrize("layout", ["sbhd", "bshd"])
def test_attention_is_that_of_its_layout(layout: str) -> None:
    layer = Refusing("transformer_engine", "DotProductAttention", qkv_format=layout)
    tokens, batch, heads, size = 10, 2, 4, 16
    shape = (tokens, batch, heads, size) if layout == "sbhd" else (batch, tokens, heads, size)
    cost, result = cost_of(layer, meta(*shape), meta(*shape), meta(*shape))
    assert cost.work.macs == 2 * batch * heads * tokens * tokens * size
    assert result.shape == (*shape[:2], heads * size)


def test_every_layer_of_the_table_is_found_by_its_library_and_name() -> None:
    for library, name in LAYERS:
        assert known_layer(type(Refusing(library, name))) is LAYERS[library, name]
    assert known_layer(torch.nn.Linear) is None
