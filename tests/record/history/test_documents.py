"""A whole profile is packed into bytes for the store, and damaged bytes are refused."""

from __future__ import annotations

import gzip

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.files import dumps
from diffprof.record.history import documents
from diffprof.record.history.documents import pack, unpack
from tests.sample_profiles import everything_measured, nothing


def test_a_packed_profile_is_smaller_than_its_text_and_unpacks_to_an_equal_one() -> None:
    profile = everything_measured()
    packed = pack(profile)
    assert len(packed) < len(dumps(profile)) / 2
    assert unpack(packed) == profile


def test_equal_profiles_are_packed_into_equal_bytes() -> None:
    assert pack(nothing()) == pack(nothing())


@pytest.mark.parametrize(
    "data",
    [b"", b"not compressed", pack(nothing())[:-20], gzip.compress(b"{"), gzip.compress(b"[" * 100_000)],
    ids=["no bytes", "not compressed", "truncated", "not JSON", "nested too deeply"],
)
def test_damaged_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(FileFormatError, match="The profile is damaged: "):
        unpack(data)


def test_json_that_is_not_a_profile_is_rejected() -> None:
    with pytest.raises(FileFormatError):
        unpack(gzip.compress(b"{}"))


def test_a_few_bytes_that_stand_for_too_many_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 1000)
    with pytest.raises(FileFormatError, match="larger than 1,000 bytes"):
        unpack(gzip.compress(b" " * 1001))
