"""How long offloaded weights travel between the host's memory and the device."""

from __future__ import annotations

from collections.abc import Mapping

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.workload import CallLoads, Workload

PAGEABLE_BYTES_PER_SECOND = 2.7e9
"""Weights in ordinary memory of the host: what whole models moved at in published runs, in both directions together.

With model offload SDXL on an A100 3.0, FLUX.1-dev on an RTX 4090 3.8 and on an L20 2.1; sequential offload 2.0 and 2.8.
"""

PINNED_SHARE = 0.8
"""Of the link's rate, for weights in pinned memory."""


def transfer_seconds(
    workload: Workload, weights: Mapping[str, int], device: DeviceModel, policy: str
) -> tuple[float, ...]:
    """Seconds that one call of each kind waits for weights, before what overlaps with computing is taken off."""
    return tuple(_call_seconds(call, weights.get(call.component, 0), device, policy) for call in workload.calls)


def overlaps(policy: str) -> bool:
    """Whether the next group travels while the previous one computes."""
    return policy.startswith("group")


def _call_seconds(call: CallLoads, weight_bytes: int, device: DeviceModel, policy: str) -> float:
    if policy == "none" or not weight_bytes:
        return 0.0
    pageable = min(PAGEABLE_BYTES_PER_SECOND, device.host_link)
    if policy == "model":
        # There before its first call, and back when the next component comes.
        return 2 * weight_bytes / pageable / max(1.0, call.times)
    if policy == "sequential":
        return weight_bytes / pageable
    return weight_bytes / (device.host_link * PINNED_SHARE)
