"""The names of quantizations, with and without their library."""

from __future__ import annotations

import pytest

from diffprof.errors import RequestError
from diffprof.settings.quantizations import GGUF_BLOCKS, GGUF_INSTEAD, KINDS, quantization_name, storage_dtype_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nf4", "bitsandbytes:nf4"),
        ("NF4", "bitsandbytes:nf4"),
        ("int8", "torchao:int8"),
        ("bnb:int8", "bitsandbytes:int8"),
        ("quanto:int8", "quanto:int8"),
        ("float8", "torchao:fp8"),
        ("int8_dynamic", "torchao:int8-dynamic"),
        ("gguf:Q4_K", "gguf:Q4_K"),
        ("gguf:q4_k_m", "gguf:Q4_K"),
        ("Q8_0", "gguf:Q8_0"),
    ],
)
def test_a_quantization_has_one_full_name(text: str, name: str) -> None:
    assert quantization_name(text) == name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nf5", "Unknown quantization 'nf5'; did you mean nf4?"),
        ("zzz", "Unknown quantization 'zzz'; use nf4,"),
        ("gguf:Q9", "gguf has no quantization 'Q9'; it has Q2_K,"),
        ("quanto:nf4", "quanto has no quantization 'nf4'; it has int8,"),
        ("hqq:int4", "Unknown quantization library 'hqq'; there are bitsandbytes,"),
        ("", "Unknown quantization ''"),
    ],
)
def test_what_nobody_can_do_is_refused_with_what_there_is(text: str, sentence: str) -> None:
    with pytest.raises(RequestError) as refusal:
        quantization_name(text)
    assert str(refusal.value).startswith(sentence)


def test_layers_are_stored_in_float8_only() -> None:
    assert storage_dtype_name("fp8") == "float8_e4m3fn"
    with pytest.raises(RequestError, match="cannot be stored as 'int8'; use fp8"):
        storage_dtype_name("int8")


def test_every_type_of_gguf_has_its_block_as_the_gguf_package_says() -> None:
    gguf = pytest.importorskip("gguf")
    assert set(KINDS["gguf"]) == set(GGUF_BLOCKS)
    for kind, block in GGUF_BLOCKS.items():
        assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]] == block
    assert all(GGUF_BLOCKS[instead][0] < GGUF_BLOCKS[kind][0] for kind, instead in GGUF_INSTEAD.items())
