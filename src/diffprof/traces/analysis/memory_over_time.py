"""Memory over time, if it was recorded."""

from __future__ import annotations

import numpy as np

from diffprof.traces.facts import MemoryUse
from diffprof.traces.reading.columns import AllocationColumns, RecordedTrace

# The number of parts of the time that have one point each.
SAMPLES = 200

# The device types of torch by number.
_DEVICE_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps"}


def memory_use(trace: RecordedTrace) -> tuple[MemoryUse, ...]:
    """The memory of each device's allocator over time; that of the host comes last."""
    memory = trace.allocations
    known = memory.rows((memory.allocated_bytes >= 0) & (memory.device_type >= 0))
    devices = set(zip(known.device_type.tolist(), known.device.tolist(), strict=True))
    devices_in_order = sorted(devices, key=lambda device: (device[0] == 0, device))
    origin = trace.start_and_end()[0]
    return tuple(
        _use(device_type, device, known.rows((known.device_type == device_type) & (known.device == device)), origin)
        for device_type, device in devices_in_order
    )


def _use(device_type: int, device: int, memory: AllocationColumns, origin: int) -> MemoryUse:
    memory = memory.rows(np.argsort(memory.time, kind="stable"))
    name = _DEVICE_TYPES.get(device_type, f"device type {device_type}")
    return MemoryUse(
        device=name if device < 0 else f"{name}:{device}",
        peak_allocated_bytes=int(memory.allocated_bytes.max()),
        peak_reserved_bytes=int(memory.reserved_bytes.max()),
        first_allocated_bytes=int(memory.allocated_bytes[0]),
        last_allocated_bytes=int(memory.allocated_bytes[-1]),
        changes=len(memory),
        samples=_samples(memory, origin),
    )


def _samples(memory: AllocationColumns, origin: int) -> tuple[tuple[int, int, int], ...]:
    """The highest point of each part of the time: a peak is never smoothed away."""
    first, last = memory.time[0], memory.time[-1]
    edges = np.linspace(first, last + 1, SAMPLES + 1)
    part = np.searchsorted(edges, memory.time, side="right") - 1
    points = []
    for number in np.unique(part):
        rows = np.flatnonzero(part == number)
        highest = rows[np.argmax(memory.allocated_bytes[rows])]
        point = (memory.time[highest] - origin, memory.allocated_bytes[highest], memory.reserved_bytes[highest])
        points.append((int(point[0]), int(point[1]), int(point[2])))
    return tuple(points)
