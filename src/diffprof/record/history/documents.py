"""Whole profiles in the store, in the file format, compressed."""

from __future__ import annotations

import gzip
import io
import zlib

from diffprof.errors import FileFormatError
from diffprof.record.bounded_json import parse_json
from diffprof.record.files import MAX_FILE_BYTES, compress, dumps, from_json
from diffprof.record.profile import Profile


def pack(profile: Profile) -> bytes:
    """Compress a profile for the store."""
    return compress(dumps(profile).encode())


def unpack(data: bytes) -> Profile:
    """Decompress the result of `pack`; raise `FileFormatError` if it is not a profile."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            # A store is untrusted: a few kilobytes can expand to terabytes.
            text = packed.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
        values = parse_json(text)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise FileFormatError(f"The profile is damaged: {error}.") from error
    return from_json(values)
