"""The text of a file a piece at a time, unpacked where it is compressed; never the whole of it in memory."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from diffprof.errors import FileFormatError

CHUNK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


def text_of(path: Path) -> Iterator[str]:
    """The pieces of the text in order; a `FileFormatError` says in one sentence why there are no more.

    Bytes that are no UTF-8 become lone surrogates, so that a name that a driver garbled stops nobody, and the text can
    be written again byte for byte.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    try:
        with path.open("rb") as file:
            for chunk in _unpacked(file, path):
                yield decoder.decode(chunk)
            yield decoder.decode(b"", final=True)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror or error}.") from error


def _unpacked(file: BinaryIO, path: Path) -> Iterator[bytes]:
    first = file.read(CHUNK_BYTES)
    # By content, not by name: a file that was renamed still opens.
    if first.startswith(_GZIP_MAGIC):
        yield from _gunzipped(first, file, path)
        return
    while first:
        yield first
        first = file.read(CHUNK_BYTES)


def _gunzipped(packed: bytes, file: BinaryIO, path: Path) -> Iterator[bytes]:
    member = zlib.decompressobj(_GZIP)
    try:
        while packed or (packed := file.read(CHUNK_BYTES)):
            # A limit for each piece: a few bytes of gzip can stand for gigabytes.
            yield member.decompress(packed, CHUNK_BYTES)
            packed = member.unconsumed_tail
            if member.eof:
                packed = member.unused_data or file.read(CHUNK_BYTES)
                # Zeros fill up the end of files that came from a tape or an archive.
                if not packed.strip(b"\0"):
                    return
                member = zlib.decompressobj(_GZIP)
    except zlib.error as error:
        raise FileFormatError(f"Cannot read {path}: the compressed file is damaged ({error}).") from error
    raise FileFormatError(f"Cannot read {path}: the compressed file ends too early; copy or record it again.")
