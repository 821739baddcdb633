"""The header of a GGUF file is read as the gguf package writes it, and a damaged one is refused in one sentence."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy
import pytest

from diffprof.errors import RequestError
from diffprof.pipelines.headers.gguf import KINDS, read_gguf_header
from diffprof.pipelines.headers.header import LARGEST_HEADER_BYTES, StoredTensor

PLAIN = {"F32": "float32", "F16": "float16", "F64": "float64", "BF16": "bfloat16"}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "flux")
    writer.add_array("tokenizer.words", ["a", "bc"])
    writer.add_array("comfy.gguf.orig_shape.conv", [2, 4, 8, 4])
    writer.add_tensor("norm", numpy.zeros(6, dtype=numpy.float32))
    weights = numpy.arange(8 * 256, dtype=numpy.float32).reshape(8, 256)
    for name, kind in (("conv", "Q8_0"), ("linear", "Q4_0"), ("half", "BF16")):
        quantization = gguf.GGMLQuantizationType[kind]
        data = weights[:1] if name == "conv" else weights
        writer.add_tensor(name, gguf.quants.quantize(data, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    yield path


def test_tensors_have_their_elements_kinds_and_real_bytes(file: Path) -> None:
    header = read_gguf_header(file)
    assert header.tensors == {
        "norm": StoredTensor((6,), "float32", 24),
        "conv": StoredTensor((2, 4, 8, 4), "Q8_0", 8 * 34),
        "linear": StoredTensor((8, 256), "Q4_0", 64 * 18),
        "half": StoredTensor((8, 256), "bfloat16", 4096),
    }
    assert header.metadata["general.architecture"] == "flux"
    assert {tensor.name: int(tensor.n_bytes) for tensor in gguf.GGUFReader(file).tensors} == {
        name: tensor.size_bytes for name, tensor in header.tensors.items()
    }


def test_kinds_are_those_of_the_gguf_package() -> None:
    for kind, (block, block_bytes) in gguf.GGML_QUANT_SIZES.items():
        name = PLAIN.get(kind.name, kind.name.replace("I", "int", 1) if kind.name[1:].isdecimal() else kind.name)
        assert KINDS[kind.value] == (name, block, block_bytes)


def test_a_file_that_is_cut_off_is_refused_wherever_that_is(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(len(whole) - 1, 0, -97):
        file.write_bytes(whole[:length])
        with pytest.raises(RequestError, match=r"it ends (within its header|before \w+ does)") as raised:
            read_gguf_header(file)
        assert "\n" not in str(raised.value)


def head(tensors: int = 0, values: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


def text(value: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(value) if length is None else length) + value


LIES = {
    "another format": (b"GGML" + bytes(40), "does not begin as a GGUF file"),
    "version 1": (head(version=1), "version 1; diffprof reads versions 2 and 3"),
    "a great many tensors": (head(tensors=100_000), "announces 100,000 tensors"),
    "a great many values": (head(values=2**60), "values about them"),
    "a text beyond measure": (head(values=1) + text(b"", 2**50), "a text announces"),
    "a list beyond measure": (
        head(values=1) + text(b"a") + struct.pack("<IIQ", 9, 0, 2**50), "a list announces"
    ),
    "lists in a list": (head(values=1) + text(b"a") + struct.pack("<IIQ", 9, 9, 3), "items of type 9"),
    "a type that is none": (head(values=1) + text(b"a") + struct.pack("<I", 77), "the unknown type 77"),
    "a kind that is none": (
        head(tensors=1) + text(b"a") + struct.pack("<IQIQ", 1, 32, 99, 0), "in kind 99 of GGUF"
    ),
    "half a block": (head(tensors=1) + text(b"a") + struct.pack("<IQIQ", 1, 33, 8, 0), "cannot be stored as Q8_0"),
    "many dimensions": (head(tensors=1) + text(b"a") + struct.pack("<I", 4_000_000), "4,000,000 dimensions"),
    "an alignment of 0": (
        head(values=1) + text(b"general.alignment") + struct.pack("<II", 4, 0), "alignment is not a size"
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(lie: str, tmp_path: Path) -> None:
    content, message = LIES[lie]
    file = tmp_path / "lie.gguf"
    file.write_bytes(content)
    with pytest.raises(RequestError, match=message):
        read_gguf_header(file)


def test_a_header_is_not_read_beyond_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "long.gguf"
    entry = text(b"a") + struct.pack("<IIQ", 9, 12, 1_000_000)  # a list of 8 MB
    with file.open("wb") as opened:
        opened.write(head(values=10))
        for _ in range(10):
            opened.write(entry)
            opened.seek(8_000_000, 1)
        opened.truncate(opened.tell())
    with pytest.raises(RequestError, match=f"longer than {LARGEST_HEADER_BYTES:,} bytes"):
        read_gguf_header(file)
