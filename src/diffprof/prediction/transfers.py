"""Predict the time to move offloaded weights between the host's memory and the device."""

from __future__ import annotations

from collections.abc import Mapping

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.workload import CallLoads, Workload

PAGEABLE_BYTES_PER_SECOND = 2.7e9
"""The rate from pageable host memory at which whole models moved in published runs, in both directions together.

With model offload SDXL on an A100 3.0, FLUX.1-dev on an RTX 4090 3.8 and on an L20 2.1; sequential offload 2.0 and 2.8.
"""

PINNED_SHARE = 0.8
"""The share of the link's bandwidth for weights in pinned memory."""


def transfer_seconds(
    workload: Workload, weights: Mapping[str, int], device: DeviceModel, policy: str, use_stream: bool = True
) -> tuple[float, ...]:
    """The transfer time of one call of each kind, before overlap with computation is subtracted."""
    return tuple(
        _call_seconds(call, weights.get(call.component, 0), device, policy, use_stream) for call in workload.calls
    )


def overlaps(policy: str, use_stream: bool = True) -> bool:
    """Whether the next group is moved while the previous one computes."""
    return policy.startswith("group") and use_stream


def _call_seconds(call: CallLoads, weight_bytes: int, device: DeviceModel, policy: str, use_stream: bool) -> float:
    if policy == "none" or not weight_bytes:
        return 0.0
    pageable = min(PAGEABLE_BYTES_PER_SECOND, device.host_link)
    if policy == "model":
        # Moved in before its first call, and back when the next component is moved in.
        return 2 * weight_bytes / pageable / max(1.0, call.times)
    if policy == "sequential":
        return weight_bytes / pageable
    if not use_stream:
        return 2 * weight_bytes / pageable  # there and back, because no copy is left on the host
    return weight_bytes / (device.host_link * PINNED_SHARE)
