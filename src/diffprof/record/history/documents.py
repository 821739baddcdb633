"""Whole profiles in the store: the one format, compressed."""

from __future__ import annotations

import gzip
import io
import zlib

from diffprof.errors import FileFormatError
from diffprof.record.bounded_json import parse_json
from diffprof.record.files import MAX_FILE_BYTES, compress, dumps, from_json
from diffprof.record.profile import Profile


def pack(profile: Profile) -> bytes:
    """The profile as it is kept."""
    return compress(dumps(profile).encode())


def unpack(data: bytes) -> Profile:
    """The profile that `pack` made this from; a `FileFormatError` when it is not one."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            # A store can come from anywhere: a few kilobytes can stand for terabytes.
            text = packed.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
        values = parse_json(text)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise FileFormatError(f"The profile is damaged: {error}.") from error
    return from_json(values)
