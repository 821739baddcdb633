"""The header of a weight file, independent of its format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from diffprof.errors import RequestError

LARGEST_HEADER_BYTES = 32 * 1024 * 1024
"""The header of a large model with 2,000 tensors takes 300 KB."""

MAX_TENSORS = 50_000
"""The largest models in one file have a few thousand."""

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
        """The number of weights, packed or not."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class WeightHeader:
    """The header of one file."""

    tensors: Mapping[str, StoredTensor]
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Strings that describe the file."""


def bytes_by_dtype(tensors: Iterable[StoredTensor]) -> dict[str, int]:
    """Return the bytes of the tensors by storage type, the most bytes first."""
    found: Counter[str] = Counter()
    for tensor in tensors:
        found[tensor.dtype] += tensor.size_bytes
    return {name: size for name, size in found.most_common() if size}


def damage_error(file: object, reason: str) -> RequestError:
    """Return the error for a damaged file."""
    return RequestError(f"{file} is damaged: {reason}; fetch it again")
