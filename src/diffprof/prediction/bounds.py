"""Lower bounds of time: what the published peaks of a device allow at best."""

from __future__ import annotations

import numpy as np

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.load_table import Floats, LoadTable

FEWEST_PRODUCTS = 4.0
"""By this factor, Winograd convolutions with kernels of 3 x 3 need fewer products at best."""


def bound_seconds(table: LoadTable, device: DeviceModel, compiled: bool = False) -> Floats:
    """Seconds that one execution of each load takes at least.

    Products at the published peak, of a causal mask only the half that is needed. Without a compiler, every operation
    reads and writes memory, but for what the L2 cache holds before and after; a compiler may fuse what is no product.
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
