"""Headers of weight files, whatever their format."""

from __future__ import annotations

from diffprof.pipelines.headers.header import StoredTensor, bytes_by_dtype, damage_error


def test_a_packed_tensor_stands_for_all_of_its_numbers() -> None:
    assert StoredTensor((4, 256), "Q4_K", 4 * 144).elements == 1024
    assert StoredTensor((), "float32", 4).elements == 1


def test_bytes_are_added_up_by_dtype_the_most_first() -> None:
    tensors = [
        StoredTensor((2,), "float32", 8), StoredTensor((8,), "float16", 16), StoredTensor((1,), "float32", 4),
        StoredTensor((0,), "int8", 0),
    ]  # fmt: skip
    assert list(bytes_by_dtype(tensors).items()) == [("float16", 16), ("float32", 12)]


def test_a_damaged_file_is_named_with_the_reason() -> None:
    assert str(damage_error("a.gguf", "it ends early")) == "a.gguf is damaged: it ends early; fetch it again"
