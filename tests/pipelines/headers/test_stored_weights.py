"""Weights are summed up by the types that they are stored in."""

from __future__ import annotations

from diffprof.pipelines.headers.header import StoredTensor
from diffprof.pipelines.headers.stored_weights import computing_dtype, stored_weights

HALF = StoredTensor((4, 4), "float16", 32)
EIGHT = StoredTensor((8, 8), "float8_e4m3fn", 64)


def test_bytes_are_told_apart_by_dtype() -> None:
    weights = stored_weights({"a": HALF, "b": EIGHT, "c": HALF})
    assert weights.bytes_by_dtype == {"float16": 64, "float8_e4m3fn": 64}
    assert weights.elements == 96
    assert not weights.is_packed


def test_scales_take_bytes_and_are_no_weights() -> None:
    scale = StoredTensor((), "float32", 4)
    weights = stored_weights(
        {"a.weight": EIGHT, "a.scale_weight": scale, "scaled_fp8": StoredTensor((0,), "float8_e4m3fn", 0)}
    )
    assert weights.elements == 64
    assert weights.bytes_by_dtype == {"float8_e4m3fn": 64, "float32": 4}


def test_weights_that_bitsandbytes_packed_count_as_what_they_stand_for() -> None:
    weights = stored_weights(
        {
            "a.weight": StoredTensor((32, 1), "uint8", 32),
            "a.weight.absmax": StoredTensor((1,), "float32", 4),
            "a.weight.quant_map": StoredTensor((16,), "float32", 64),
            "a.weight.quant_state.bitsandbytes__nf4": StoredTensor((80,), "uint8", 80),
        }
    )
    assert weights.elements == 64
    assert weights.bytes_by_dtype == {"uint8": 80, "float32": 68, "nf4": 32}
    assert weights.is_packed


def test_weights_of_nvfp4_count_as_what_they_stand_for() -> None:
    weights = stored_weights(
        {
            "a.weight": StoredTensor((4, 16), "uint8", 64),
            "a.weight_scale": StoredTensor((4, 2), "float8_e4m3fn", 8),
            "a.weight_scale_2": StoredTensor((), "float32", 4),
        }
    )
    assert weights.tensors["a.weight"].shape == (4, 32)
    assert weights.elements == 128
    assert weights.bytes_by_dtype == {"nvfp4": 64, "float8_e4m3fn": 8, "float32": 4}
    assert weights.is_packed


def test_a_component_computes_in_the_dtype_of_its_weights_if_layers_can() -> None:
    assert computing_dtype(stored_weights({"a": HALF}), "bfloat16") == "float16"
    assert computing_dtype(stored_weights({"a": EIGHT}), "bfloat16") == "bfloat16"
    assert computing_dtype(None, "float32") == "float32"
