"""One place knows pyarrow: every table is written as Parquet in the same way."""

from __future__ import annotations

import io
import sys

import pytest

from diffprof.errors import RequestError
from diffprof.record.parquet_files import parquet_bytes, parquet_library


def test_columns_come_back_as_they_were_written() -> None:
    pyarrow = parquet_library()
    from pyarrow import parquet

    content = parquet_bytes({"macs": pyarrow.array([1, None, 3], pyarrow.int64())})
    assert parquet.read_table(io.BytesIO(content)).to_pydict() == {"macs": [1, None, 3]}


def test_without_pyarrow_the_message_says_what_to_install_and_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[parquet\]'`, or leave --parquet out for CSV\.$"):
        parquet_library("leave --parquet out for CSV")
