"""Packed weights are what they stand for, and take what they store; libraries that are not installed are skipped."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.pipelines.components import element_count, weight_bytes_by_dtype
from diffprof.pipelines.packing.packed_weights import PackedWeight, packed_weight, plan_packing, stored_tensors
from diffprof.pipelines.packing.quantization import LAYOUTS

SHAPES = ((64, 256), (33, 47), (96, 320), (7, 130))
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def each_layer() -> list[torch.nn.Linear]:
    return [torch.nn.Linear(inputs, outputs).to(dtype) for outputs, inputs in SHAPES for dtype in DTYPES]


def check_against_layout(weight: Any, linear: torch.nn.Linear, quantization: str) -> None:
    """The library's own weight has the facts that the layout says beforehand, and they are those of its tensors."""
    packed = packed_weight(weight)
    assert packed is not None
    assert packed == LAYOUTS[quantization](linear.out_features, linear.in_features, linear.weight.dtype)
    assert packed.elements == linear.weight.numel() == element_count(weight)
    assert packed.stored_bytes == sum(tensor.nbytes for tensor in stored_tensors(weight))


@pytest.mark.parametrize("kind", ["int8", "fp8", "int4", "int2"])
def test_quanto_keeps_data_scales_and_shifts(kind: str) -> None:
    quanto = pytest.importorskip("optimum.quanto")
    kinds = {"int8": quanto.qint8, "fp8": quanto.qfloat8, "int4": quanto.qint4, "int2": quanto.qint2}
    for linear in each_layer():
        layer = torch.nn.Sequential(torch.nn.Linear(linear.in_features, linear.out_features).to(linear.weight.dtype))
        quanto.quantize(layer, weights=kinds[kind])
        assert packed_weight(layer[0].weight) is None, "it is packed when it is frozen"
        quanto.freeze(layer)
        check_against_layout(layer[0].weight, linear, f"quanto:{kind}")


@pytest.mark.parametrize("kind", ["nf4", "nf4-double", "fp4"])
def test_bitsandbytes_packs_two_elements_into_a_byte(kind: str) -> None:
    layers = pytest.importorskip("bitsandbytes").nn
    for linear in each_layer():
        layer = layers.Linear4bit(
            *(linear.in_features, linear.out_features),
            compute_dtype=linear.weight.dtype, quant_type=kind[:3], compress_statistics=kind.endswith("double"),
        )  # fmt: skip
        layer.load_state_dict(linear.state_dict())
        check_against_layout(layer.to("cpu").weight, linear, f"bitsandbytes:{kind}")


def test_bitsandbytes_keeps_int8_scales_on_the_weight_and_after_a_call_on_the_layer() -> None:
    layers = pytest.importorskip("bitsandbytes").nn
    linear = torch.nn.Linear(256, 64)
    layer = layers.Linear8bitLt(256, 64, has_fp16_weights=False)
    layer.load_state_dict(linear.state_dict())
    layer.to("cpu")
    check_against_layout(layer.weight, linear, "bitsandbytes:int8")
    before = packed_weight(layer.weight)
    layer(torch.randn(3, 256))
    assert packed_weight(layer.weight) == before


@pytest.mark.parametrize("kind", ["int8", "fp8", "int8-dynamic"])
def test_torchao_keeps_data_scales_and_zero_points(kind: str) -> None:
    quantization = pytest.importorskip("torchao.quantization")
    configs = {
        "int8": quantization.Int8WeightOnlyConfig,
        "fp8": quantization.Float8WeightOnlyConfig,
        "int8-dynamic": quantization.Int8DynamicActivationInt8WeightConfig,
    }
    for linear in each_layer():
        layer = torch.nn.Sequential(torch.nn.Linear(linear.in_features, linear.out_features).to(linear.weight.dtype))
        quantization.quantize_(layer, configs[kind]())
        check_against_layout(layer[0].weight, linear, f"torchao:{kind}")


def test_gguf_weights_are_elements_and_not_bytes() -> None:
    gguf = pytest.importorskip("gguf")
    from diffusers.quantizers.gguf.utils import GGUFLinear, GGUFParameter

    layer = GGUFLinear(256, 8, bias=False, compute_dtype=torch.float32)
    data = torch.zeros(8, 144, dtype=torch.uint8)
    layer.weight = GGUFParameter(data, quant_type=gguf.GGMLQuantizationType.Q4_K)
    packed = packed_weight(layer.weight)
    assert packed == PackedWeight("Q4_K", (8, 256), 8 * 144, copies=(torch.float16, None), unpacking_flops=2)
    assert element_count(layer.weight) == 8 * 256
    assert weight_bytes_by_dtype(layer) == {"Q4_K": 8 * 144}


def test_a_weight_without_data_can_stand_for_a_packed_one() -> None:
    layer = torch.nn.Linear(64, 32, bias=False, device="meta")
    assert packed_weight(layer.weight) is None
    plan_packing(layer.weight, PackedWeight("nf4", (32, 64), 1216))
    assert element_count(layer.weight) == 2048
    assert weight_bytes_by_dtype(layer) == {"nf4": 1216}
