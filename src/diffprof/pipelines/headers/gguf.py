"""Read the header of an untrusted GGUF file: its numbers are bounded, and no tensor is read."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

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

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_VALUES = 10_000
MAX_ITEMS = 1_000_000
USUAL_ALIGNMENT = 32
ORIGINAL_SHAPE = "comfy.gguf.orig_shape."
"""The prefix for the original shape of a tensor with more dimensions than the format can pack."""

# Every type of tensor: its name, the elements of a block, and the bytes of a block.
KINDS: Mapping[int, tuple[str, int, int]] = {
    0: ("float32", 1, 4), 1: ("float16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("int8", 1, 1), 25: ("int16", 1, 2), 26: ("int32", 1, 4), 27: ("int64", 1, 8), 28: ("float64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("bfloat16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip

TEXT, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Types of values, with their struct formats."""


def read_gguf_header(file: Path) -> WeightHeader:
    """Read the header of a file, and check it against the size of the file."""
    try:
        with file.open("rb") as opened:
            return _Reader(opened, file).header()
    except OSError as error:
        raise RequestError(f"{file} cannot be read: {error.strerror or error}") from None


class _Reader:
    """Reads one value after the other, up to the largest allowed header."""

    def __init__(self, opened: BinaryIO, file: Path) -> None:
        self.opened = opened
        self.file = file
        self.file_bytes = file.stat().st_size
        self.place = 0

    def header(self) -> WeightHeader:
        if self._bytes(4) != MAGIC:
            raise damage_error(self.file, "it does not begin as a GGUF file does")
        version = self._number("I")
        if version not in VERSIONS:
            raise RequestError(f"{self.file} is a GGUF file of version {version}; diffprof reads versions 2 and 3")
        tensors, values = self._number("Q"), self._number("Q")
        if tensors > MAX_TENSORS or values > MAX_VALUES:
            raise RequestError(
                f"{self.file} announces {tensors:,} tensors and {values:,} values about them; "
                f"diffprof reads files with up to {MAX_TENSORS:,} and {MAX_VALUES:,}"
            )
        about = dict(self._entry() for _ in range(values))
        found = [self._tensor(about) for _ in range(tensors)]
        alignment = about.get("general.alignment", USUAL_ALIGNMENT)
        if not isinstance(alignment, int) or not 0 < alignment <= 2**20:
            raise damage_error(self.file, "its alignment is not a size")
        data_bytes = self.file_bytes - math.ceil(self.place / alignment) * alignment
        for name, offset, tensor in found:
            if offset + tensor.size_bytes > data_bytes:
                raise damage_error(self.file, f"it ends before {name} does")
        texts = {key: value for key, value in about.items() if isinstance(value, str)}
        return WeightHeader({name: tensor for name, _, tensor in found}, texts)

    def _tensor(self, about: Mapping[str, Any]) -> tuple[str, int, StoredTensor]:
        name = self._text(LONGEST_NAME)
        dimensions = self._number("I")
        if dimensions > 8:
            raise damage_error(self.file, f"{name} has {dimensions:,} dimensions")
        # The format starts with the innermost dimension.
        shape = tuple(reversed([self._number("Q") for _ in range(dimensions)]))
        kind, offset = self._number("I"), self._number("Q")
        if kind not in KINDS:
            raise RequestError(f"{self.file} holds {name} in kind {kind} of GGUF, which diffprof does not know")
        dtype, block, block_bytes = KINDS[kind]
        elements = math.prod(shape)
        if any(not 0 < size <= LARGEST_DIMENSION for size in shape) or elements % block:
            raise damage_error(self.file, f"{name} of shape {'x'.join(map(str, shape))} cannot be stored as {dtype}")
        original = about.get(f"{ORIGINAL_SHAPE}{name}")
        if isinstance(original, tuple) and math.prod(original) == elements:
            shape = original
        return name, offset, StoredTensor(shape, dtype, elements // block * block_bytes)

    def _entry(self) -> tuple[str, Any]:
        name = self._text(65_535)
        return name, self._value(self._number("I"), keep=name.startswith(ORIGINAL_SHAPE))

    def _value(self, kind: int, keep: bool) -> Any:
        if kind == TEXT:
            return self._text(LARGEST_HEADER_BYTES)
        if kind == ARRAY:
            return self._array(keep)
        if kind in NUMBERS:
            return self._number(NUMBERS[kind])
        raise damage_error(self.file, f"a value has the unknown type {kind:,}")

    def _array(self, keep: bool) -> Any:
        """Read or skip an array; vocabularies and the like are skipped."""
        kind, count = self._number("I"), self._number("Q")
        if count > MAX_ITEMS or kind == ARRAY:
            raise damage_error(self.file, f"a list announces {count:,} items of type {kind:,}")
        if kind in NUMBERS and not keep:
            self._bytes(count * struct.calcsize(NUMBERS[kind]))
            return None
        items = tuple(self._value(kind, keep) for _ in range(count))
        return items if keep else None

    def _text(self, longest: int) -> str:
        length = self._number("Q")
        if length > longest:
            raise damage_error(self.file, f"a text announces {length:,} bytes")
        return self._bytes(length).decode("utf-8", "replace")

    def _number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self._bytes(struct.calcsize(f"<{kind}")))[0]

    def _bytes(self, count: int) -> bytes:
        self.place += count
        if self.place > LARGEST_HEADER_BYTES:
            raise damage_error(self.file, f"its header is longer than {LARGEST_HEADER_BYTES:,} bytes")
        read = self.opened.read(count) if self.place <= self.file_bytes else b""
        if len(read) != count:
            raise damage_error(self.file, "it ends within its header")
        return read
