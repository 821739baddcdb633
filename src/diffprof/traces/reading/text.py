"""The text of a trace file, decompressed a chunk at a time; the whole file is never in memory."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from diffprof.errors import FileFormatError

CHUNK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS

# How `surrogateescape` decodes the bytes 0x80 to 0xff where they are not valid UTF-8.
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


def read_text(path: Path) -> Iterator[str]:
    """Yield the text of a file in chunks; raise a `FileFormatError` if it cannot be read to its end.

    Bytes that are not valid UTF-8 become lone surrogates, so that `byte_length` still knows how many bytes of the file
    any part of the text takes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in read_bytes(path):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def read_bytes(path: Path) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in chunks; raise a `FileFormatError` if it cannot be read to its end."""
    try:
        with path.open("rb") as file:
            chunk = file.read(CHUNK_BYTES)
            # By content, not by name: a file that was renamed still opens.
            if chunk.startswith(_GZIP_MAGIC):
                yield from _decompress(chunk, file, path)
                return
            while chunk:
                yield chunk
                chunk = file.read(CHUNK_BYTES)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror or error}.") from error


def byte_length(text: str) -> int:
    """How many bytes of the file a part of its text takes."""
    # Nearly all text of a trace is ASCII, which Python knows without looking at the characters.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def escape_invalid_bytes(json_text: str) -> tuple[str, int]:
    r"""JSON text with each invalid byte spelled out (``\xff``) inside its string, and the number of such bytes."""
    if json_text.isascii():
        return json_text, 0
    return _ESCAPED_BYTE.subn(lambda match: f"\\\\x{ord(match[0]) - 0xDC00:02x}", json_text)


def _decompress(packed: bytes, file: BinaryIO, path: Path) -> Iterator[bytes]:
    member = zlib.decompressobj(_GZIP)
    try:
        while packed or (packed := file.read(CHUNK_BYTES)):
            # A limit for each chunk: a few bytes of gzip can expand to gigabytes.
            yield member.decompress(packed, CHUNK_BYTES)
            packed = member.unconsumed_tail
            if member.eof:
                packed = member.unused_data or file.read(CHUNK_BYTES)
                # Files from a tape or an archive may be padded with zeros.
                if not packed.strip(b"\0"):
                    return
                member = zlib.decompressobj(_GZIP)
    except zlib.error as error:
        raise FileFormatError(f"Cannot read {path}: the compressed file is damaged ({error}).") from error
    raise FileFormatError(f"Cannot read {path}: the compressed file ends too early; copy or record it again.")
