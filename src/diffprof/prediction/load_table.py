"""The loads of a workload as columns of numbers, so that a device is one pass over arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, MEMORY, VIEW, Load, Workload
from diffprof.prediction.workspace import element_bytes

SECTOR_ELEMENT = 4
"""Bytes of an element for which the cost of reading across memory is said."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LoadTable:
    """One row for each load of each kind of call."""

    loads: tuple[Load, ...]
    call: Numbers
    """The number of its kind of call in the workload."""
    count: Floats
    macs: Floats
    read: Floats
    written: Floats
    strided: Floats
    """Bytes that are read across memory, as if in float32: a sector is fetched for each element, large or small."""
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
    """Could a convolution be done with fewer products?"""
    dtypes: tuple[str, ...]
    """Those that occur."""
    dtype: Numbers
    """Place of a load's dtype among them."""
    kinds: tuple[str, ...]
    kind: Numbers
    """The same for kinds of operations."""


def load_table(workload: Workload) -> LoadTable:
    """The table of a workload."""
    loads = tuple(load for call in workload.calls for load in call.loads)
    dtypes = tuple(dict.fromkeys(load.dtype for load in loads))
    kinds = tuple(dict.fromkeys(load.kind for load in loads))
    place = {dtype: number for number, dtype in enumerate(dtypes)}

    def column(name: str) -> Any:
        return np.array([getattr(load, name) for load in loads], dtype=float)

    sizes = np.array([element_bytes(load.dtype) for load in loads], dtype=float)

    def flag(values: Any) -> Any:
        return np.array([bool(value) for value in values], dtype=bool)

    return LoadTable(
        loads=loads,
        call=np.array([number for number, call in enumerate(workload.calls) for _ in call.loads], dtype=int),
        count=column("count"),
        macs=column("macs"),
        read=column("read_bytes"),
        written=column("written_bytes"),
        strided=column("strided_bytes") * SECTOR_ELEMENT / sizes,
        weight=column("weight_bytes"),
        batch=column("batch"),
        rows=column("rows"),
        columns=column("columns"),
        inner=column("inner"),
        taps=column("taps"),
        elements=column("elements"),
        is_gemm=flag(load.sort == GEMM for load in loads),
        is_convolution=flag(load.sort == CONVOLUTION for load in loads),
        is_attention=flag(load.sort == ATTENTION for load in loads),
        is_memory=flag(load.sort == MEMORY for load in loads),
        is_view=flag(load.sort == VIEW for load in loads),
        is_norm=flag(load.kind == "norm" for load in loads),
        is_reduction=flag(load.kind == "reduction" for load in loads),
        is_softmax=flag(load.kind == "softmax" for load in loads),
        is_scattered=flag(load.scattered for load in loads),
        is_masked=flag(load.masked or (load.sort == ATTENTION and load.inner > 256) for load in loads),
        is_causal=flag(load.causal for load in loads),
        is_winograd=flag(load.taps == 9 for load in loads),
        dtypes=dtypes,
        dtype=np.array([place[load.dtype] for load in loads], dtype=int),
        kinds=kinds,
        kind=np.array([kinds.index(load.kind) for load in loads], dtype=int),
    )
