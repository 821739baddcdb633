"""Read the header of an untrusted safetensors file: every number is checked, and the data is not read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.pipelines.headers.header import (
    LARGEST_DIMENSION,
    LARGEST_HEADER_BYTES,
    LONGEST_NAME,
    MAX_TENSORS,
    StoredTensor,
    WeightHeader,
    damage_error,
)
from diffprof.record.bounded_json import parse_json

DTYPES = {
    "BOOL": ("bool", 8), "U8": ("uint8", 8), "I8": ("int8", 8), "U16": ("uint16", 16), "I16": ("int16", 16),
    "U32": ("uint32", 32), "I32": ("int32", 32), "U64": ("uint64", 64), "I64": ("int64", 64),
    "F16": ("float16", 16), "BF16": ("bfloat16", 16), "F32": ("float32", 32), "F64": ("float64", 64),
    "C64": ("complex64", 64), "F8_E4M3": ("float8_e4m3fn", 8), "F8_E5M2": ("float8_e5m2", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8), "F4": ("float4_e2m1fn_x2", 4), "F6_E2M3": ("float6_e2m3", 6),
    "F6_E3M2": ("float6_e3m2", 6), "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8), "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
}  # fmt: skip
"""The torch dtype and its bits for every dtype of the format."""

LFS_POINTER = b"version https://git-lfs"


def read_safetensors_header(file: Path) -> WeightHeader:
    """Read the header of a file, and check it against the size of the file."""
    try:
        file_bytes = file.stat().st_size
        with file.open("rb") as opened:
            start = opened.read(8)
            if LFS_POINTER.startswith(start) and start:
                raise RequestError(f"{file} is a pointer of git-lfs; `git lfs pull` fetches what it points at")
            if len(start) < 8:
                raise damage_error(file, "it is too short for a safetensors file")
            length = int.from_bytes(start, "little")
            if length > LARGEST_HEADER_BYTES or 8 + length > file_bytes:
                raise damage_error(
                    file, f"its first bytes announce a header of {length:,} bytes, and the file has {file_bytes:,}"
                )
            text = opened.read(length)
    except OSError as error:
        raise RequestError(f"{file} cannot be read: {error.strerror or error}") from None
    return parse_safetensors_header(text, file, file_bytes - 8 - length)


def parse_safetensors_header(text: bytes, file: object, data_bytes: int | None) -> WeightHeader:
    """Parse a header; `data_bytes` is the size of the rest of the file, None if it is not known."""
    try:
        values = parse_json(text)
    except (ValueError, RecursionError):
        raise damage_error(file, "its header is not valid JSON") from None
    if not isinstance(values, dict):
        raise damage_error(file, "its header is not a JSON object")
    metadata = values.pop("__metadata__", None) or {}
    texts = metadata.items() if isinstance(metadata, dict) else ()
    tensors = parse_safetensors_tensors(values, file, data_bytes)
    return WeightHeader(tensors, {key: value for key, value in texts if isinstance(value, str)})


def parse_safetensors_tensors(
    values: Mapping[str, Any], file: object, data_bytes: int | None
) -> dict[str, StoredTensor]:
    """Return the tensors of a header; check each of them, and that they are consistent."""
    if len(values) > MAX_TENSORS:
        raise RequestError(
            f"{file} lists {len(values):,} tensors; diffprof reads files with up to {MAX_TENSORS:,}, "
            "and no diffusion model has as many"
        )
    places: list[tuple[int, int]] = []
    tensors = {name: _tensor(name, value, file, places) for name, value in values.items()}
    _check_places(places, file, data_bytes)
    return tensors


def _tensor(name: str, value: Any, file: object, places: list[tuple[int, int]]) -> StoredTensor:
    short = name if len(name) <= LONGEST_NAME else f"{name[:40]}..."
    fields: Mapping[str, Any] = value if isinstance(value, dict) else {}
    dtype, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:  # type: ignore[arg-type]
        raise damage_error(file, f"its header does not say what {short} is")
    if dtype not in DTYPES:
        raise RequestError(
            f"{file} holds {short} as {dtype[:20]}, a dtype that diffprof does not know; update diffprof"
        )
    assert shape is not None
    torch_name, bits = DTYPES[dtype]
    begin, end = offsets  # type: ignore[misc]
    expected = math.ceil(math.prod(shape) * bits / 8)
    if end - begin != expected:
        raise damage_error(file, f"its header gives {short} {end - begin:,} bytes where its shape needs {expected:,}")
    places.append((begin, end))
    return StoredTensor(tuple(shape), torch_name, expected)


def _are_sizes(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > 64:
        return False
    return all(type(size) is int and 0 <= size <= LARGEST_DIMENSION for size in value)


def _check_places(places: list[tuple[int, int]], file: object, data_bytes: int | None) -> None:
    """Check that the tensors follow each other without gaps, from the header to the end of the file."""
    reached = 0
    for begin, end in sorted(places):
        if begin != reached:
            raise damage_error(
                file, f"its header leaves a gap or an overlap between tensors at byte {min(begin, reached):,}"
            )
        reached = end
    if data_bytes is not None and reached != data_bytes:
        raise damage_error(
            file, f"its header describes {reached:,} bytes of tensors, and the file holds {data_bytes:,}"
        )
