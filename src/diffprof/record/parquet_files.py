"""Write tables as Parquet with pyarrow, which is optional."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from diffprof.errors import RequestError


def parquet_library(instead: str = "write .csv") -> Any:
    """Import pyarrow; without it, raise a `RequestError` that says how to install it, or what to do `instead`."""
    try:
        import pyarrow
    except ImportError as error:
        raise RequestError(
            f"Writing Parquet needs pyarrow; install it with `pip install 'diffprof[parquet]'`, or {instead}."
        ) from error
    return pyarrow


def parquet_bytes(columns: Mapping[str, Any]) -> bytes:
    """Return the content of a Parquet file with these columns, which are pyarrow arrays."""
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(parquet_library().table(columns), out)
    return out.getvalue()
