"""A file is decompressed and decoded in chunks, without losing a byte."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.traces.reading import text
from diffprof.traces.reading.text import byte_length, escape_invalid_bytes, read_bytes, read_text


@given(st.binary(max_size=60), st.integers(2, 9), st.booleans())
def test_the_lengths_of_the_chunks_add_up_to_the_bytes_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, chunk: int, compressed: bool
) -> None:
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_bytes(gzip.compress(b"x" + data) if compressed else b"x" + data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "CHUNK_BYTES", chunk)
        assert b"".join(read_bytes(path)) == b"x" + data
        assert sum(map(byte_length, read_text(path))) == 1 + len(data)


@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_is_recognised_by_its_content(members: int, tmp_path: Path) -> None:
    data = b"some text of a trace"
    size = -(-len(data) // members)
    parts = [gzip.compress(data[at : at + size]) for at in range(0, len(data), size)]
    path = tmp_path / "trace.json"
    path.write_bytes(b"".join(parts) + b"\0" * 512)
    assert "".join(read_text(path)) == data.decode()


def test_invalid_bytes_are_escaped_inside_of_json_strings() -> None:
    assert escape_invalid_bytes('"plain"') == ('"plain"', 0)
    assert escape_invalid_bytes('"\u00e9"') == ('"\u00e9"', 0)
    assert escape_invalid_bytes(b'"\xff\x80"'.decode("utf-8", "surrogateescape")) == ('"\\\\xff\\\\x80"', 2)
