"""What the header of a weight file says about its tensors, whatever its format is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from diffprof.errors import RequestError

LARGEST_HEADER_BYTES = 32 * 1024 * 1024
"""A header with 2,000 tensors, as large models have, takes 300 KB."""

MOST_TENSORS = 50_000
"""The largest models that are published in one file have a few thousand."""

LARGEST_DIMENSION = 2**40
LONGEST_NAME = 1000


@dataclass(frozen=True)
class StoredTensor:
    """One tensor in a file."""

    shape: tuple[int, ...]
    dtype: str
    """A dtype of torch, or a kind of packed weights such as ``Q4_K``."""
    size_bytes: int

    @property
    def elements(self) -> int:
        """How many weights it represents, packed or not."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class WeightHeader:
    """The header of one file."""

    tensors: Mapping[str, StoredTensor]
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Texts that the file keeps about itself."""


def bytes_by_dtype(tensors: Iterable[StoredTensor]) -> dict[str, int]:
    """The bytes of the tensors by the type that they are stored in, the most bytes first."""
    found: Counter[str] = Counter()
    for tensor in tensors:
        found[tensor.dtype] += tensor.size_bytes
    return {name: size for name, size in found.most_common() if size}


def damage_error(file: object, reason: str) -> RequestError:
    """The error for a file that cannot be what it says it is."""
    return RequestError(f"{file} is damaged: {reason}; fetch it again")
