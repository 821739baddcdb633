"""The accelerators and the constants of the time model, as JSON for the calculator's script."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from diffprof.catalogue.accelerators import Accelerator
from diffprof.prediction import bounds, call_times, kernel_times, load_table, time, transfers
from diffprof.prediction.device import DeviceModel, basis_of, device_of
from diffprof.prediction.device_memory import WITHOUT_TF32, device_memory
from diffprof.prediction.workspace import LARGEST_FUSED_HEAD

DTYPES = ("float32", "bfloat16", "float16", "float64", "int64", "int32", "bool", "complex64", "complex128")
OTHER = "other"
"""Represents all dtypes that are not listed: the time model treats them alike."""


def calculator_device(accelerator: Accelerator) -> dict[str, Any]:
    """An accelerator for the script, with its rates in each dtype."""
    device = device_of(accelerator)
    memory = device_memory(accelerator)
    basis = basis_of(accelerator)
    known = basis in time.BASIS_SPREAD
    return {
        "name": accelerator.name,
        "title": accelerator.reported_names[0] if accelerator.reported_names else accelerator.name,
        "efficiency": asdict(device.efficiency),
        "multiprocessors": device.multiprocessors,
        "bandwidth": device.bandwidth,
        "effective_bandwidth": device.effective_bandwidth,
        "element_rate": device.element_rate,
        "score_rate": device.score_rate,
        "has_flash_attention": device.has_flash_attention,
        "cache_bytes": device.cache_bytes,
        "host_link": device.host_link,
        "board_power_watts": device.board_power_watts,
        "spread": device.efficiency.spread * time.BASIS_SPREAD[basis] if known else time.UNKNOWN_FAMILY_SPREAD,
        "attention_start": kernel_times.attention_start(device),
        "unaligned_shares": kernel_times.unaligned_shares(device),
        "gemm_fixed": kernel_times.gemm_fixed(device),
        "matrix_seconds": kernel_times.matrix_seconds(device),
        "patch_share": kernel_times.patch_share(device),
        "rates": {dtype: _rates(device, dtype) for dtype in (*DTYPES, OTHER)},
        "memory_bytes": memory.memory_bytes,
        "usable_bytes": memory.usable_bytes,
        "capacity_bytes": memory.capacity_bytes,
        "context_bytes": memory.context_bytes,
        "matrix_workspace_bytes": memory.matrix_workspace_bytes,
        "has_tf32": memory.architecture not in WITHOUT_TF32,
        "has_any_fused_head": memory.maker == "NVIDIA",
        "largest_fused_head": LARGEST_FUSED_HEAD,
    }


def _rates(device: DeviceModel, dtype: str) -> dict[str, float | bool]:
    return {
        "product": device.product_rate(dtype),
        "convolution": device.product_rate(dtype, True),
        "attention": kernel_times.attention_rate(device, dtype),
        "fastest": device.fastest_peak(dtype),
        "fastest_convolution": device.fastest_peak(dtype, True),
        "has_cores_in_convolutions": device.uses_matrix_cores(dtype, True),
    }


def calculator_constants() -> dict[str, Any]:
    """The constants of the time model, so that the script does not repeat them."""
    return {
        "quantile": time.QUANTILE,
        "idle_power": time.IDLE_POWER,
        "busy_power": time.BUSY_POWER,
        "host_sharpness": call_times.HOST_SHARPNESS,
        "roof_sharpness": kernel_times.ROOF_SHARPNESS,
        "tiles": [(*size, speed) for size, speed in kernel_times.TILES.items()],
        "split_inner": kernel_times.SPLIT_INNER,
        "alignment": load_table.MOST_ALIGNED,
        "unaligned_convolution_share": kernel_times.UNALIGNED_CONVOLUTION_SHARE,
        "vector_share": kernel_times.VECTOR_SHARE,
        "winograd_speedup": kernel_times.WINOGRAD_SPEEDUP,
        "attention_rows": kernel_times.ATTENTION_ROWS,
        "attention_rows_efficient": kernel_times.ATTENTION_ROWS_EFFICIENT,
        "wide_head": kernel_times.WIDE_HEAD,
        "widest_head": kernel_times.WIDEST_HEAD,
        "product_fixed": kernel_times.PRODUCT_FIXED,
        "reduction_fixed": kernel_times.REDUCTION_FIXED,
        "norm_fixed": kernel_times.NORM_FIXED,
        "memory_fixed": kernel_times.MEMORY_FIXED,
        "sector_element": load_table.SECTOR_ELEMENT,
        "narrow_channels": kernel_times.NARROW_CHANNELS,
        "narrow_share": kernel_times.NARROW_SHARE,
        "patch_taps": kernel_times.PATCH_TAPS,
        "softmax_passes": kernel_times.SOFTMAX_PASSES,
        "transfer_spread": time.TRANSFER_SPREAD,
        "pageable_bytes_per_second": transfers.PAGEABLE_BYTES_PER_SECOND,
        "fewest_products": bounds.FEWEST_PRODUCTS,
    }
