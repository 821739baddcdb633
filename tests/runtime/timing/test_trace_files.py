"""Files of traces: valid UTF-8 afterwards, whatever torch has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.runtime.timing import trace_files
from diffprof.runtime.timing.trace_files import ends_with, rank_ending, repair_encoding, safe_file_name


@pytest.mark.parametrize(
    ("written", "repaired"),
    [
        (b'{"name": "\xff"}', '{"name": "\ufffd"}'),
        (b'{"name": "a\xc3"', '{"name": "a\ufffd"'),
        ("é\u2029 🎨".encode() + b"\xfe", "é\u2029 🎨\ufffd"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1, 3, 1024])
def test_bytes_that_are_not_utf8_are_replaced(
    written: bytes, repaired: str, chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MEBIBYTE", chunk_bytes)
    file = tmp_path / "trace.json"
    file.write_bytes(written)
    assert repair_encoding(file) is True
    assert file.read_text(encoding="utf-8") == repaired
    assert list(tmp_path.glob("trace*")) == [file]


def test_a_file_that_ends_inside_a_letter_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes("é".encode()[:1])
    assert repair_encoding(file) is True
    assert file.read_text(encoding="utf-8") == "\ufffd"


@pytest.mark.parametrize("chunk_bytes", [1, 3, 1024])
def test_valid_utf8_is_left_alone(chunk_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_files, "MEBIBYTE", chunk_bytes)
    file = tmp_path / "trace.json"
    file.write_bytes('{"name": "Bäume 🎨"}'.encode())
    before = file.stat()
    assert repair_encoding(file) is False
    assert file.stat() == before


def test_the_end_of_a_file_is_compared_without_its_whitespace(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_bytes(b"{" + b" " * 100 + b"}\n\n")
    assert ends_with(file, b"}") and not ends_with(file, b"]")


def test_a_name_is_never_empty_nor_longer_than_a_file_system_allows() -> None:
    assert (safe_file_name("///"), safe_file_name(" . ")) == ("___", "trace")
    assert len(safe_file_name("a" * 1000)) == 120


@pytest.mark.parametrize(
    ("environment", "ending"),
    [
        ({}, ""),
        ({"RANK": "0", "WORLD_SIZE": "1"}, ""),
        ({"RANK": "3", "WORLD_SIZE": "4"}, ".rank3"),
        ({"RANK": "x"}, ""),
    ],
)
def test_the_ranks_of_one_run_write_files_of_their_own(
    environment: dict[str, str], ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert rank_ending() == ending
