"""Lower bounds of time, from the published peaks of a device."""

from __future__ import annotations

import numpy as np

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.load_table import Floats, LoadTable

FEWEST_PRODUCTS = 4.0
"""The largest factor by which Winograd's algorithm reduces the products of a 3 x 3 convolution."""


def bound_seconds(table: LoadTable, device: DeviceModel, compiled: bool = False) -> Floats:
    """The minimum seconds of one execution of each load.

    Products run at the published peak; with a causal mask, only half of them are needed. Without a compiler, every
    operation reads and writes memory, except for data in the L2 cache; a compiler may fuse everything but products.
    """
    plain = np.array([device.fastest_peak(dtype) for dtype in table.dtypes])[table.dtype]
    in_convolutions = np.array([device.fastest_peak(dtype, True) for dtype in table.dtypes])[table.dtype]
    matrix = np.array([device.uses_matrix_cores(dtype, True) for dtype in table.dtypes], dtype=bool)[table.dtype]
    needed = np.where(table.is_causal, table.macs / 2, table.macs)
    needed = np.where(table.is_convolution & table.is_winograd & ~matrix, needed / FEWEST_PRODUCTS, needed)
    compute = 2 * needed / np.where(table.is_convolution, in_convolutions, plain)
    moved = np.maximum(0.0, table.read + table.written - 2 * device.cache_bytes) / device.bandwidth
    memory = np.zeros_like(moved) if compiled else moved
    bound: Floats = np.maximum(compute, memory)
    return bound
