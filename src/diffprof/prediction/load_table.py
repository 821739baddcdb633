"""The loads of a workload as columns of numbers, so that times are computed with array operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, MEMORY, VIEW, Load, Loads, Workload
from diffprof.prediction.workspace import element_bytes

SECTOR_ELEMENT = 4
"""The element size in bytes to which the cost of strided reads refers."""

MOST_ALIGNED = 8
"""Matrix cores load eight values at once; sizes that are not a multiple of it use slower kernels."""

Tiles = tuple[tuple[int, int], ...]
"""Rows and columns of each size of a tile."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Products:
    """Columns of matrix products."""

    batch: Floats
    rows: Floats
    columns: Floats
    inner: Floats

    def tiles(self, sizes: Tiles) -> Floats:
        """The number of tiles of each size (rows) for each product (columns), cached because many devices share it."""
        if sizes not in self._tiles:
            rows, columns = np.array(sizes, dtype=float).T[:, :, np.newaxis]
            self._tiles[sizes] = self.batch * np.ceil(self.rows / rows) * np.ceil(self.columns / columns)
        return self._tiles[sizes]

    @cached_property
    def _tiles(self) -> dict[Tiles, Floats]:
        return {}

    @cached_property
    def alignment(self) -> Numbers:
        """The number of values of a row that can be loaded at once: 8, 4, 2, or 1."""
        both = self.columns.astype(np.int64) | self.inner.astype(np.int64) | MOST_ALIGNED
        return both & -both


@dataclass(frozen=True)
class LoadTable:
    """One row for each load of each kind of call."""

    loads: tuple[Load, ...]
    call: Numbers
    """The index of the kind of call in the workload."""
    count: Floats
    macs: Floats
    read: Floats
    written: Floats
    strided: Floats
    """Bytes of strided reads, as if in float32: each element needs its own sector, regardless of its size."""
    weight: Floats
    batch: Floats
    rows: Floats
    columns: Floats
    inner: Floats
    taps: Floats
    elements: Floats
    is_gemm: Flags
    is_convolution: Flags
    is_attention: Flags
    is_memory: Flags
    is_view: Flags
    is_norm: Flags
    is_softmax: Flags
    is_reduction: Flags
    is_scattered: Flags
    is_masked: Flags
    is_causal: Flags
    is_winograd: Flags
    """Whether a convolution could use Winograd's algorithm."""
    dtypes: tuple[str, ...]
    """The dtypes that occur."""
    dtype: Numbers
    """The index of a load's dtype."""
    kinds: tuple[str, ...]
    kind: Numbers
    """The same for kinds of operations."""

    @cached_property
    def gemms(self) -> Products:
        """The matrix products among the loads."""
        return self._products(self.is_gemm)

    @cached_property
    def convolutions(self) -> Products:
        """The convolutions among the loads, as matrix products."""
        return self._products(self.is_convolution)

    def _products(self, chosen: Flags) -> Products:
        return Products(self.batch[chosen], self.rows[chosen], self.columns[chosen], self.inner[chosen])


def load_table(workload: Workload) -> LoadTable:
    """The table of a workload."""
    parts = [call.loads.derive("columns", _columns) for call in workload.calls] or [_columns(Loads())]
    loads = tuple(load for call in workload.calls for load in call.loads)
    dtypes = tuple(dict.fromkeys(dtype for part in parts for dtype in part.dtypes))
    kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.kinds))
    lengths = [len(part.dtype) for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in (*NUMBERS, *FLAGS)
    }
    return LoadTable(
        loads=loads,
        call=np.repeat(np.arange(len(parts)), lengths),
        dtypes=dtypes,
        dtype=_places(dtypes, [(part.dtypes, part.dtype) for part in parts]),
        kinds=kinds,
        kind=_places(kinds, [(part.kinds, part.kind) for part in parts]),
        **columns,
    )


def _places(names: Sequence[str], parts: Sequence[tuple[Sequence[str], Numbers]]) -> Numbers:
    """Convert indices into the names of each part to indices into all names."""
    return np.concatenate([np.array([names.index(name) for name in own], dtype=int)[places] for own, places in parts])


@dataclass(frozen=True)
class _Columns:
    """The part of a table that one kind of call has."""

    columns: Mapping[str, npt.NDArray[Any]]
    dtypes: tuple[str, ...]
    dtype: Numbers
    kinds: tuple[str, ...]
    kind: Numbers


def _columns(loads: Loads) -> _Columns:
    dtypes = tuple(dict.fromkeys(load.dtype for load in loads))
    kinds = tuple(dict.fromkeys(load.kind for load in loads))
    sizes = np.array([element_bytes(load.dtype) for load in loads], dtype=float)
    columns: dict[str, npt.NDArray[Any]] = {
        **{name: np.array([getattr(load, of) for load in loads], dtype=float) for name, of in NUMBERS.items()},
        **{name: np.array([bool(holds(load)) for load in loads], dtype=bool) for name, holds in FLAGS.items()},
    }
    columns["strided"] = columns["strided"] * SECTOR_ELEMENT / sizes
    return _Columns(
        columns=columns,
        dtypes=dtypes,
        dtype=np.array([dtypes.index(load.dtype) for load in loads], dtype=int),
        kinds=kinds,
        kind=np.array([kinds.index(load.kind) for load in loads], dtype=int),
    )


NUMBERS = {
    **{name: name for name in ("count", "macs", "batch", "rows", "columns", "inner", "taps", "elements")},
    **{name: f"{name}_bytes" for name in ("read", "written", "strided", "weight")},
}
"""Columns of numbers, with the field of a load that each is read from."""

FLAGS: dict[str, Callable[[Load], bool]] = {
    "is_gemm": lambda load: load.sort == GEMM,
    "is_convolution": lambda load: load.sort == CONVOLUTION,
    "is_attention": lambda load: load.sort == ATTENTION,
    "is_memory": lambda load: load.sort == MEMORY,
    "is_view": lambda load: load.sort == VIEW,
    "is_norm": lambda load: load.kind == "norm",
    "is_reduction": lambda load: load.kind == "reduction",
    "is_softmax": lambda load: load.kind == "softmax",
    "is_scattered": lambda load: load.scattered,
    "is_masked": lambda load: load.masked,
    "is_causal": lambda load: load.causal,
    "is_winograd": lambda load: load.taps == 9,
}
"""Columns of flags, with the function of a load that computes each."""
