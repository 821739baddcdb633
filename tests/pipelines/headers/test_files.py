"""The reader of a header is chosen by the ending of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.pipelines.headers.files import READERS, read_header


def safetensors(path: Path, **tensors: list[int]) -> Path:
    """Tensors of float32 in the format of safetensors: the length of the header, the header, the numbers."""
    header, start = {}, 0
    for name, shape in tensors.items():
        end = start + 4 * shape[0]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(start))
    return path


@pytest.mark.parametrize("ending", [".safetensors", ".SFT"])
def test_the_ending_decides_in_any_case(tmp_path: Path, ending: str) -> None:
    header = read_header(safetensors(tmp_path / f"m{ending}", weight=[3]))
    assert (header.tensors["weight"].shape, header.tensors["weight"].size_bytes) == ((3,), 12)


def test_a_file_without_tensors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="holds no tensors"):
        read_header(safetensors(tmp_path / "m.safetensors"))


def test_no_pickle_is_ever_read() -> None:
    assert not {".bin", ".pt", ".pth", ".ckpt", ".pkl"} & READERS.keys()
