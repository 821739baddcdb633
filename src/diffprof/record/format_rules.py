"""The differences between the saved format and the dataclasses that it is derived from.

- A record in a field of `INLINE_FIELDS` has no object; its fields are among those of the enclosing record.
- Records of `TABLE_ROWS` are the rows of a table, which names its columns once: a third of the size of objects.
- Properties of `DERIVED` are written for other readers, and checked when read.
- Fields of `OMITTED` are written by the code that encodes the enclosing record.
- Fields of `ADDED` may be missing in a file, and then have their default.
"""

from __future__ import annotations

from diffprof.record.allocations import AllocationEvent
from diffprof.record.measured import (
    CacheEvent,
    Device,
    DevicePoint,
    DeviceReading,
    Iteration,
    Measured,
    MemoryPoint,
    Move,
    RankPart,
    Sample,
    StepSpan,
    SystemPoint,
)
from diffprof.record.profile import (
    Attention,
    Call,
    Component,
    Cost,
    Module,
    ModuleWork,
    Operation,
    Profile,
    Stage,
    Steps,
    Work,
)
from diffprof.record.recorded_request import RecordedRequest

INLINE_FIELDS = ("work", "span", "shapes")
TABLE_ROWS = (
    *(Module, ModuleWork, Operation, Attention, AllocationEvent),
    *(Sample, StepSpan, MemoryPoint, DevicePoint, DeviceReading, RankPart, Move, CacheEvent, SystemPoint),
)
DERIVED: dict[type, tuple[str, ...]] = {Work: ("flops",), Stage: ("count", "macs"), Steps: ("count", "macs")}
OMITTED: dict[type, tuple[str, ...]] = {Call: ("cost",)}

# Fields that were added in version 3 of the format. Files of earlier versions do not have them; their default means
# "not recorded".
ADDED: dict[type, tuple[str, ...]] = {
    Operation: ("strided_bytes",),
    Component: ("weight_bytes_by_dtype",),
    Cost: ("allocations",),
    RecordedRequest: ("changes", "recommended", "config", "component", "method", "inputs", "assume_defaults"),
    Profile: ("placement", "macs_range", "texts", "counted_by"),
    Sample: ("device",),
    Move: ("device_ns",),
    SystemPoint: ("gpu_watts", "gpu_mhz", "gpu_celsius", "gpu_throttle"),
    Device: ("bytes_per_second",),
    Iteration: ("device_memory",),
    Measured: ("limitations", "other_devices", "readings", "preparation", "ranks"),
}
