"""Uploads of a comparison on the page."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from diffprof.app.comparison import load_upload
from diffprof.app.uploads import LARGEST_UPLOAD
from diffprof.errors import FileFormatError


def test_an_upload_is_small_when_it_is_unpacked_too(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (LARGEST_UPLOAD + 1), compresslevel=1))
    with pytest.raises(FileFormatError, match=r"^Cannot read bomb.json.gz: .*larger than 67,108,864 bytes"):
        load_upload(bomb)
