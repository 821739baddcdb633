"""The allocation events of a component call on one kind of device, including the workspace of operations."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.event_player import Event, Part, parts_of
from diffprof.prediction.repetitions import stretches
from diffprof.prediction.workspace import FUSED, MATH, fused_attention_bytes, score_bytes
from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent, step_places
from diffprof.record.profile import Cost

WORKSPACE = "workspace"
"""Memory that is allocated and released at once: `value` bytes; the step is 1 if the operation can do without it."""


@dataclass(frozen=True)
class CallEvents:
    """The allocator requests of a call."""

    parts: list[Part]
    workspaces: tuple[int, ...]
    """What differs between devices."""


def call_events(cost: Cost, device: DeviceMemory, attention: str, share: int) -> CallEvents:
    """The events of a call; `attention` is how it is computed; `share` devices split each tensor."""
    known = [_event(event, cost, device, attention, share) for event in cost.allocations.events]
    parts = parts_of(stretches(cost.allocations), known)
    return CallEvents(parts, tuple(event[1] if event else 0 for event in known if not event or event[0] == WORKSPACE))


def _event(event: AllocationEvent, cost: Cost, device: DeviceMemory, attention: str, share: int) -> Event | None:
    """An event with its size; None if it allocates nothing."""
    if event.kind == ALLOCATE:
        return ALLOCATE, event.value // share or 1, step_places(event.step)
    if event.kind == RELEASE:
        return RELEASE, event.value, 0
    operation = cost.operations[event.value]
    is_optional = operation.kind == "convolution"
    if is_optional:
        size = device.convolution_bytes(operation)
    elif attention != FUSED:
        size = score_bytes(operation, attention)
    elif not device.has_fused_attention(operation):
        size = score_bytes(operation, MATH)
    else:
        size = fused_attention_bytes(operation)
    return (WORKSPACE, size // share, int(is_optional)) if size // share else None
