"""The time of each kind of component call: device time, host time, and their overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.kernel_times import KernelTimes, kernel_times
from diffprof.prediction.load_table import Floats, LoadTable
from diffprof.prediction.workload import Workload

PIPELINE = "pipeline"
HOST_SHARPNESS = 4
"""The exponent of the smooth maximum of device and host time: if both are busy, each waits a little for the other."""


@dataclass(frozen=True)
class CallTimes:
    """Seconds of one call of each kind, in the order of the workload."""

    device: Floats
    host: Floats
    total: Floats
    kernels: KernelTimes
    """Seconds of each load of the table."""


def call_times(
    workload: Workload,
    table: LoadTable,
    device: DeviceModel,
    compiled: bool = False,
    fused_attention: bool = True,
    host_factor: float = 1.0,
    kernels: KernelTimes | None = None,
) -> CallTimes:
    """Seconds of one call of each kind; a slow host has a `host_factor` above 1, and `kernels` may be known before."""
    if kernels is None:
        kernels = kernel_times(table, device, compiled, fused_attention)
    number = len(workload.calls)
    busy: Floats = np.bincount(table.call, weights=kernels.seconds * table.count, minlength=number).astype(float)
    host = _host_seconds(workload, table, device) * host_factor
    is_pipeline = np.array([call.component == PIPELINE for call in workload.calls], dtype=bool)
    if compiled:
        host = np.where(is_pipeline, host, host * device.efficiency.compiled_host_share)
    if device.is_processor:
        return CallTimes(busy, host, busy + host, kernels)
    total = smooth_maximum(busy, host)
    total = np.where(is_pipeline, _pipeline_seconds(workload, busy, host, total, is_pipeline), total)
    return CallTimes(busy, host, total, kernels)


def smooth_maximum(a: Floats, b: Floats) -> Floats:
    """Close to the larger of two times; slightly more if they are similar."""
    maximum: Floats = (a**HOST_SHARPNESS + b**HOST_SHARPNESS) ** (1 / HOST_SHARPNESS)
    return maximum


def _host_seconds(workload: Workload, table: LoadTable, device: DeviceModel) -> Floats:
    efficiency = device.efficiency
    each = np.where(table.is_view, efficiency.view_seconds, efficiency.operation_seconds)
    launched = np.bincount(table.call, weights=each * table.count, minlength=len(workload.calls))
    modules = np.array([call.module_calls for call in workload.calls], dtype=float)
    return launched + modules * efficiency.module_seconds


def _pipeline_seconds(workload: Workload, busy: Floats, host: Floats, total: Floats, is_pipeline: Floats) -> Floats:
    """The time of the pipeline's own operations between calls; the host does part of them while the device works."""
    times = np.array([call.times for call in workload.calls], dtype=float)
    slack = float(np.sum(np.where(is_pipeline, 0.0, (total - host) * times)))
    waiting = np.maximum(0.0, host - slack)
    return smooth_maximum(busy, waiting)
