"""The header of a safetensors file is read exactly, and one that lies is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from diffprof.errors import RequestError
from diffprof.pipelines.headers.header import LARGEST_HEADER_BYTES, MAX_TENSORS, StoredTensor
from diffprof.pipelines.headers.safetensors import DTYPES, read_safetensors_header
from tests.pipelines.weight_headers import write_header

WHOLE = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def test_shapes_dtypes_and_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    tensors = {
        "half": torch.zeros(2, 3, dtype=torch.float16),
        "eight": torch.zeros(5, dtype=torch.float8_e4m3fn),
        "scalar": torch.zeros((), dtype=torch.int64),
    }
    save_file(tensors, tmp_path / "a.safetensors", metadata={"format": "pt"})
    header = read_safetensors_header(tmp_path / "a.safetensors")
    assert header.tensors == {
        "half": StoredTensor((2, 3), "float16", 12),
        "eight": StoredTensor((5,), "float8_e4m3fn", 5),
        "scalar": StoredTensor((), "int64", 8),
    }
    assert header.metadata == {"format": "pt"}


def test_every_dtype_that_torch_has_is_named_as_torch_does() -> None:
    names = {name for name, _ in DTYPES.values() if not name.startswith("float6")}
    assert all(isinstance(getattr(torch, name), torch.dtype) for name in names)


LIES: dict[str, tuple[Any, int, str]] = {
    "offsets beyond the file": ({"a": WHOLE}, 20, "describes 24 bytes of tensors, and the file holds 20"),
    "offsets of another shape": ({"a": {**WHOLE, "data_offsets": [0, 20]}}, 20, "20 bytes where its shape needs 24"),
    "a gap": ({"a": {**WHOLE, "data_offsets": [8, 32]}}, 32, "a gap or an overlap between tensors at byte 0"),
    "an overlap": ({"a": WHOLE, "b": WHOLE}, 24, "a gap or an overlap between tensors at byte 0"),
    "a negative size": ({"a": {**WHOLE, "shape": [-2, -3]}}, 24, "does not say what a is"),
    "a size beyond measure": ({"a": {**WHOLE, "shape": [10**30, 1]}}, 24, "does not say what a is"),
    "no offsets": ({"a": {"dtype": "F32", "shape": [2]}}, 24, "does not say what a is"),
    "a list": ([1, 2], 0, "not a JSON object"),
    "an unknown dtype": ({"a": {**WHOLE, "dtype": "F5"}}, 24, "holds a as F5"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(lie: str, tmp_path: Path) -> None:
    header, data_bytes, message = LIES[lie]
    file = write_header(tmp_path / "lie.safetensors", header, data_bytes)
    with pytest.raises(RequestError, match=message) as raised:
        read_safetensors_header(file)
    assert "\n" not in str(raised.value)


def test_a_length_beyond_the_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.safetensors"
    file.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(RequestError, match=r"announce a header of 9,223,372,036,854,775,808 bytes"):
        read_safetensors_header(file)
    with file.open("wb") as opened:
        opened.write((LARGEST_HEADER_BYTES + 1).to_bytes(8, "little"))
        opened.truncate(2 * LARGEST_HEADER_BYTES)
    with pytest.raises(RequestError, match="announce a header of"):
        read_safetensors_header(file)


def test_a_hundred_thousand_tensors_are_refused(tmp_path: Path) -> None:
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    file = write_header(tmp_path / "many.safetensors", {str(number): empty for number in range(100_000)})
    with pytest.raises(RequestError, match=f"lists 100,000 tensors; diffprof reads files with up to {MAX_TENSORS:,}"):
        read_safetensors_header(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "too short"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00{]", "not valid JSON"),
        (b"\x10\x27\x00\x00\x00\x00\x00\x00" + b"[" * 10_000, "not valid JSON"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_what_is_no_header_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file.safetensors"
    file.write_bytes(content)
    with pytest.raises(RequestError, match=message):
        read_safetensors_header(file)


def test_nothing_behind_the_header_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = {"a": {"dtype": "F16", "shape": [2**30, 8], "data_offsets": [0, 2**34]}}
    file = write_header(tmp_path / "large.safetensors", header, 2**34)
    read: list[int] = []
    original = Path.open

    def watch(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened = original(path, *args, **kwargs)
        whole = opened.read

        class Watched:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *error: object) -> None:
                opened.close()

            def read(self, count: int) -> bytes:
                read.append(count)
                return whole(count)

        return Watched()

    monkeypatch.setattr(Path, "open", watch)
    assert read_safetensors_header(file).tensors["a"].size_bytes == 2**34
    assert read == [8, len(json.dumps(header))]
