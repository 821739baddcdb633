"""The time of each operation on a device: products in tiles and waves, bytes, and a fixed cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.load_table import MOST_ALIGNED, Flags, Floats, LoadTable, Products

TILES = {
    (256, 128): 1.0,
    (128, 256): 1.0,
    (128, 128): 0.95,
    (128, 64): 0.8,
    (64, 128): 0.8,
    (64, 64): 0.62,
    (128, 32): 0.55,
    (32, 32): 0.3,
}
"""Sizes of the output tile that a multiprocessor computes at a time, and the relative speed of each."""

PROCESSOR_TILES = {(4, 16): 1.0}
"""The tile of a CPU: the size of its vector registers."""

SPLIT_INNER = 512
"""A sum of this many products is worth splitting among multiprocessors."""

UNALIGNED_CONVOLUTION_SHARE = 0.3
UNALIGNED_SHARES = {1: 0.11, 2: 0.3, 4: 0.6}
"""Relative speed of a product by the number of values that can be loaded at once; with odd sizes it is one."""

UNALIGNED_SHARES_AMD = {1: 0.25, 2: 1.0, 4: 1.0}
"""AMD's kernels load two values as fast as eight."""

VECTOR_SHARE = 0.8
"""Speed of convolutions and attention without matrix cores, relative to a product."""

WINOGRAD_SPEEDUP = 1.3
"""Speedup of 3 x 3 convolutions without matrix cores."""

ATTENTION_ROWS = 128
ATTENTION_ROWS_EFFICIENT = 64
WIDE_HEAD = 128
"""With larger heads, a multiprocessor has space for only ATTENTION_ROWS_EFFICIENT queries."""

WIDEST_HEAD = 256
"""Flash attention's largest head; larger ones are left to the kernel that also takes masks."""

ATTENTION_START, ATTENTION_START_AMD = 64, 512
"""The overhead at the start and end of a block of queries, in keys."""

ROOF_SHARPNESS = 4
"""The exponent of the smooth maximum of compute and memory time, which overlap, but not completely."""

MATH_ATTENTION_PASSES = 8
"""How often unfused attention reads or writes its scores: to write, scale, exponentiate and read them again."""


@dataclass(frozen=True)
class KernelTimes:
    """Seconds of one execution of each load."""

    seconds: Floats
    compute: Floats
    """Seconds of the products alone."""
    memory: Floats
    """Seconds of the memory traffic alone."""


def kernel_times(
    table: LoadTable, device: DeviceModel, compiled: bool = False, fused_attention: bool = True
) -> KernelTimes:
    """Predict the seconds of each load on the device."""
    efficiency = device.efficiency
    compute = _compute_seconds(table, device, fused_attention)
    if compiled:
        compute = np.where(table.is_gemm | table.is_convolution, compute / efficiency.compiled_product_speedup, compute)
    memory = _memory_seconds(table, device, compiled, fused_attention)
    rest = table.is_memory & compiled
    left = np.where(table.is_norm, efficiency.compiled_norm_passes, efficiency.compiled_passes)
    memory = np.where(rest, memory * left, memory)
    roof: Floats = (compute**ROOF_SHARPNESS + memory**ROOF_SHARPNESS) ** (1 / ROOF_SHARPNESS)
    fixed = fixed_seconds(table, device)
    fixed = np.where(rest, fixed * left, fixed)
    layout = _conversion_seconds(table, device, compiled)
    return KernelTimes(roof + fixed + layout, compute, memory + layout)


def fixed_seconds(table: LoadTable, device: DeviceModel) -> Floats:
    """The fixed time of each execution, which is longer for products than for other kernels."""
    is_product = table.is_gemm | table.is_convolution | table.is_attention
    product = np.where(table.is_gemm, gemm_fixed(device), PRODUCT_FIXED)
    rest = np.where(table.is_reduction, REDUCTION_FIXED, np.where(table.is_norm, NORM_FIXED, MEMORY_FIXED))
    return np.where(table.is_view, 0.0, device.efficiency.kernel_seconds * np.where(is_product, product, rest))


PRODUCT_FIXED, REDUCTION_FIXED, NORM_FIXED, MEMORY_FIXED = 2.0, 1.9, 1.0, 0.65
"""Fixed times relative to a small kernel: reductions are slower, because their threads wait for each other."""

GEMM_FIXED_AMD = 1.0
"""AMD's small kernels take longer than NVIDIA's, but its matrix products do not."""


def gemm_fixed(device: DeviceModel) -> float:
    """The fixed time of a matrix product, relative to a small kernel of the device."""
    return GEMM_FIXED_AMD if device.is_amd else PRODUCT_FIXED


MATRIX_SECONDS_AMD = 4.5e-6
"""The fixed time of each matrix in AMD's batched products; it is negligible for NVIDIA's."""


def matrix_seconds(device: DeviceModel) -> float:
    """The fixed time of a multiprocessor for each matrix of a batch."""
    return MATRIX_SECONDS_AMD if device.is_amd else 0.0


NARROW_CHANNELS, NARROW_SHARE = 8, 0.2
"""With fewer input channels, a convolution cannot fill the matrix cores."""

PATCH_TAPS, PATCH_SHARE = 64, 0.055
"""Kernels for image patches of 8 x 8 pixels and more are even slower, except on AMD."""


def patch_share(device: DeviceModel) -> float:
    """The relative speed of a convolution that splits an image with few channels into patches."""
    return NARROW_SHARE if device.is_amd else PATCH_SHARE


def _compute_seconds(table: LoadTable, device: DeviceModel, fused_attention: bool) -> Floats:
    efficiency = device.efficiency
    rate = np.array([device.product_rate(dtype) for dtype in table.dtypes])[table.dtype]
    rate_in_convolutions = np.array([device.product_rate(dtype, True) for dtype in table.dtypes])[table.dtype]
    with_cores = [device.uses_matrix_cores(dtype, True) for dtype in table.dtypes]
    # With an explicit type, because a profile may have no operations.
    has_cores_in_convolutions = np.array(with_cores, dtype=bool)[table.dtype]
    seconds = np.zeros(len(table.loads))
    gemm = table.is_gemm
    waves = np.where(table.gemms.batch > 1, np.ceil(table.gemms.batch / device.multiprocessors), 0.0)
    seconds[gemm] = np.maximum(_tiled_operations(table.gemms, device) / rate[gemm], waves * matrix_seconds(device))
    conv = table.is_convolution
    vector_share = np.where(table.is_winograd, VECTOR_SHARE * WINOGRAD_SPEEDUP, VECTOR_SHARE)
    is_measured = has_cores_in_convolutions | device.is_processor
    share = np.where(is_measured, efficiency.convolution_share, vector_share)
    is_narrow = has_cores_in_convolutions & (table.inner < NARROW_CHANNELS * table.taps)
    narrow_share = np.where(table.taps >= PATCH_TAPS, patch_share(device), NARROW_SHARE)
    share = np.where(is_narrow & ~np.bool_(device.is_processor), share * narrow_share, share)
    seconds[conv] = _tiled_operations(table.convolutions, device, is_convolution=True) / (
        rate_in_convolutions[conv] * share[conv]
    )
    own = table.is_attention
    if fused_attention:
        attention = np.array([attention_rate(device, dtype) for dtype in table.dtypes])[table.dtype]
        seconds[own] = _attention_seconds(table, own, device, attention[own])
    else:
        seconds[own] = 2 * table.macs[own] / (rate[own] * UNFUSED_SHARE)
    return seconds


def _tiled_operations(products: Products, device: DeviceModel, is_convolution: bool = False) -> Floats:
    """The operations of products, padded to whole tiles and waves.

    A multiprocessor computes one tile at a time, so a last wave of a few tiles takes as long as a full one.
    """
    multiprocessors, inner = device.multiprocessors, products.inner
    speeds = PROCESSOR_TILES if device.is_processor else TILES
    tiles = products.tiles(tuple(speeds))
    # A row for each tile, a column for each load.
    operations = np.array([2 * rows * columns / speed for (rows, columns), speed in speeds.items()])[:, np.newaxis]
    most = 1 if is_convolution else np.maximum(1, inner // SPLIT_INNER)
    parts = np.minimum(np.maximum(multiprocessors // tiles, 1), most)
    waves = np.ceil(tiles * parts / multiprocessors)
    best: Floats = (waves * operations / parts).min(axis=0) * multiprocessors * inner
    return best if device.is_processor else best / _alignment_share(products, device, is_convolution)


def _alignment_share(products: Products, device: DeviceModel, is_convolution: bool) -> Floats:
    if is_convolution:
        return np.where(products.alignment < MOST_ALIGNED, UNALIGNED_CONVOLUTION_SHARE, 1.0)
    shares = unaligned_shares(device)
    return np.array([shares.get(number, 1.0) for number in range(MOST_ALIGNED + 1)])[products.alignment]


def unaligned_shares(device: DeviceModel) -> dict[int, float]:
    """Relative speed of products on a device, by the number of values that can be loaded at once."""
    return UNALIGNED_SHARES_AMD if device.is_amd else UNALIGNED_SHARES


def _attention_seconds(table: LoadTable, chosen: Flags, device: DeviceModel, rate: Floats) -> Floats:
    """The seconds of fused attention: of its products, and of what happens to each score between them."""
    efficiency = device.efficiency
    rows, columns, inner, batch = (
        table.rows[chosen], table.columns[chosen], table.inner[chosen], table.batch[chosen],
    )  # fmt: skip
    if device.is_processor:
        return 4 * batch * rows * columns * inner / rate
    blocks = batch * np.ceil(rows / np.where(inner > WIDE_HEAD, ATTENTION_ROWS_EFFICIENT, ATTENTION_ROWS))
    filled = np.ceil(blocks / device.multiprocessors) * device.multiprocessors / blocks
    causal = np.where(table.is_causal[chosen] & (columns > 2 * ATTENTION_ROWS), 0.6, 1.0)
    columns = np.ceil(columns / ATTENTION_ROWS_EFFICIENT) * ATTENTION_ROWS_EFFICIENT + attention_start(device)
    scores = batch * np.ceil(rows / 64) * 64 * columns * filled * causal
    is_wide = inner > WIDEST_HEAD
    products = 4 * scores * np.ceil(inner / 32) * 32 / (rate * np.where(is_wide, efficiency.wide_head_share, 1.0))
    is_efficient = ~is_wide & (table.is_masked[chosen] | np.bool_(not device.has_flash_attention))
    passes = np.where(is_efficient, efficiency.masked_score_passes, 1.0)
    seconds: Floats = products + scores * passes / device.score_rate
    return seconds


def attention_rate(device: DeviceModel, dtype: str) -> float:
    """Operations per second of the products in fused attention."""
    if device.is_processor or device.uses_matrix_cores(dtype):
        return device.product_rate(dtype) * device.attention_share(dtype)
    return device.product_rate(dtype) * VECTOR_SHARE


def attention_start(device: DeviceModel) -> int:
    """The overhead of a block of queries, in keys."""
    return ATTENTION_START_AMD if device.is_amd else ATTENTION_START


UNFUSED_SHARE = 0.5
"""Speed of the narrow products of unfused attention, relative to a large product."""


def _memory_seconds(table: LoadTable, device: DeviceModel, compiled: bool, fused_attention: bool) -> Floats:
    efficiency = device.efficiency
    moved = table.read + table.written + (0 if compiled else efficiency.strided_passes) * table.strided
    if not fused_attention:
        scores = 2 * table.batch * table.rows * table.columns
        moved = np.where(table.is_attention, moved + MATH_ATTENTION_PASSES * scores, moved)
    seconds = moved / (device.effective_bandwidth * _cache_speedup(moved, device))
    passes = np.where(table.is_norm, efficiency.norm_passes, np.where(table.is_softmax, SOFTMAX_PASSES, 0.0))
    if not compiled:
        passes = np.where(table.is_scattered, 1.0, passes)
    return np.maximum(seconds, table.elements * passes / device.element_rate)


SOFTMAX_PASSES = 2.0


def _cache_speedup(moved: Floats, device: DeviceModel) -> Floats:
    """The speedup by data in the L2 cache from an earlier operation; none for much larger tensors."""
    speedup: Floats = 1 + (device.efficiency.cache_speedup - 1) / (1 + (moved / device.cache_bytes) ** 2)
    return speedup


def _conversion_seconds(table: LoadTable, device: DeviceModel, compiled: bool) -> Floats:
    """The time to convert input and output of convolutions to channels-last, which matrix cores need."""
    efficiency = device.efficiency
    passes = efficiency.compiled_conversion_passes if compiled else efficiency.conversion_passes
    moved = np.where(table.is_convolution, (table.read - table.weight + table.written) * passes, 0.0)
    return moved / (device.effective_bandwidth * _cache_speedup(moved, device))
