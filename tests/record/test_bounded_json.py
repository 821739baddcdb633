"""JSON from outside is measured before it is parsed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError
from diffprof.record import bounded_json
from diffprof.record.bounded_json import MAX_VALUES, parse_json
from diffprof.record.files import load
from diffprof.record.history.documents import unpack


@pytest.mark.parametrize("text", ['{"a": [1, 2.5, "x, y", null]}', b'{"a": [1, 2.5, "x, y", null]}'])
def test_a_text_of_few_values_is_read(text: str | bytes) -> None:
    assert parse_json(text) == {"a": [1, 2.5, "x, y", None]}


@pytest.mark.parametrize("text", ["[[], [], [], []]", b"[[], [], [], []]", '{"a": {}, "b": {}, "c": {}, "d": {}}'])
def test_more_values_than_a_file_may_hold_are_refused_before_they_are_made(
    text: str | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parse_json(text, 8) is not None
    monkeypatch.setattr(bounded_json.json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(ValueError, match="more than 7 values"):
        parse_json(text, 7)


BOMB = gzip.compress(b"[" + b"[]," * (MAX_VALUES // 2) + b"1]", 1)
"""A hundred kilobytes, which would be 0.6 GB of lists."""


def test_a_small_file_of_very_many_values_is_no_profile(tmp_path: Path) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(BOMB)
    assert len(BOMB) < 200_000
    with pytest.raises(FileFormatError, match="more than 8,000,000 values"):
        load(file)
    with pytest.raises(FileFormatError, match="more than 8,000,000 values"):
        unpack(BOMB)
