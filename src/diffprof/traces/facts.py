"""The facts found in a trace, as records. All times are integer nanoseconds since the start of the trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from diffprof.record.display import Displayed

GAP_THRESHOLD_NS = 10_000
"""Shorter gaps are only summed up by default: a launch takes about as long."""

# Why a device was idle.
HOST = "host"
"""The host had not launched the next work in time: it could not keep up."""
SYNCHRONISATION = "synchronisation"
"""The host was waiting for the device, and so had not launched anything ahead."""
LAUNCH = "launch"
"""The runtime call that launches the next work was in progress."""
STREAM = "stream"
"""The next work was queued, but waited for another stream or a copy."""
QUEUE = "queue"
"""The next work was queued behind the work that had just ended on its stream: the pause between two kernels."""
SHORT = "short"
"""All gaps shorter than the threshold, in total."""
UNEXPLAINED = "unexplained"
"""The trace has no record of the call that launched the work after the gap."""
CAUSES = (HOST, SYNCHRONISATION, LAUNCH, STREAM, QUEUE, SHORT, UNEXPLAINED)

# Kinds of work on a device.
KINDS = ("gemm", "convolution", "attention", "norm", "elementwise", "reduction", "copy", "communication", "other")

# The implementations of attention that write the scores to memory.
SLOW_ATTENTION = ("math", "eager")


@dataclass(frozen=True)
class TraceSource:
    """Where a trace comes from and what was recorded in it."""

    path: str
    events: int
    platform: str
    """cuda, rocm, xpu or cpu"""
    device_names: tuple[str, ...]
    rank: int | None
    world_size: int | None
    recorded_ns: int
    """From the start of the first to the end of the last event."""
    origin_ns: int
    """The start of the trace on its own clock."""
    clock_ns: int | None
    """The start of the trace in nanoseconds since 1970, if it was recorded."""
    has_stacks: bool
    has_shapes: bool
    has_launches: bool
    negative_durations: int = 0
    """Events with a negative duration, which counts as 0."""
    invalid_bytes: int = 0
    """Bytes that are not valid UTF-8."""


@dataclass(frozen=True)
class Timeline:
    """How one device spent the time from its first to its last work."""

    device: int
    total_ns: int
    computation_ns: int
    communication_ns: int
    exposed_communication_ns: int
    copy_ns: int
    exposed_copy_ns: int
    busy_ns: int
    kernels: int
    streams: int
    before_ns: int
    """From the start of the trace to the first work: start-up, which is not part of the total."""
    before_what: str
    """What the host did for most of that time."""
    after_ns: int
    """From the last work to the end of the trace."""
    after_what: str

    @property
    def idle_ns(self) -> int:
        return self.total_ns - self.busy_ns

    @property
    def hidden_communication_ns(self) -> int:
        """Communication that overlapped with computation."""
        return self.communication_ns - self.exposed_communication_ns

    @property
    def hidden_copy_ns(self) -> int:
        """Copies that overlapped with computation or communication."""
        return self.copy_ns - self.exposed_copy_ns

    @property
    def busy_share(self) -> float:
        return self.busy_ns / self.total_ns if self.total_ns else 0.0


@dataclass(frozen=True)
class DeviceActivity:
    """What one device did in each of several equal parts of its timeline."""

    device: int
    parts: tuple[tuple[int, int, int, int, int], ...]
    """Start, length, computation, exposed communication and exposed copies; the rest of the length is idle time."""


@dataclass(frozen=True)
class Copies:
    """All copies in one direction from or to one type of memory."""

    direction: str
    """H2D, D2H, D2D, P2P, H2H"""
    memory: str
    """pinned, pageable, device, or empty if it was not recorded"""
    count: int
    size_bytes: int | None
    duration_ns: int
    exposed_ns: int
    """Time in which nothing else ran on the device."""

    @property
    def bytes_per_second(self) -> float | None:
        return self.size_bytes * 1e9 / self.duration_ns if self.size_bytes is not None and self.duration_ns else None


@dataclass(frozen=True)
class Gap:
    """One interval in which a device was idle."""

    device: int
    start_ns: int
    length_ns: int
    cause: str
    what: str
    """The call, operator or function that caused it."""
    where: str
    """The Python function that it was called from, if stacks were recorded."""
    before: str
    after: str
    """The work before and after it."""


@dataclass(frozen=True)
class IdleCause:
    """All gaps of one device with the same cause."""

    device: int
    cause: str
    what: str
    where: str
    gaps: int
    idle_ns: int
    longest_ns: int
    mostly: str = ""
    """The function in which the host spent the most time meanwhile."""
    mostly_share: float = 0.0
    """The share of that time spent in it."""


@dataclass(frozen=True)
class KernelRow:
    """All calls of one kernel."""

    name: str
    kind: str
    count: int
    gpu_ns: int
    longest_ns: int


@dataclass(frozen=True)
class WorkKind:
    """All work of one kind on the devices."""

    kind: str
    count: int
    gpu_ns: int


class AlternativeReason(Enum):
    """Why a fused implementation of attention could have run, or could not."""

    fits = "fits"
    pads_heads = "pads heads"
    takes_bias = "takes a mask or bias"
    half_precision = "flash needs half precision"
    large_head = "head too large for flash"
    odd_head = "head size is not a multiple of 8"
    float64 = "float64"
    no_shapes = "shapes were not recorded"


@dataclass(frozen=True)
class FusedAlternative:
    """The fused implementation that could have run instead of a slow one."""

    backend: str
    """Empty if none could have run, or if it is unknown."""
    reason: AlternativeReason
    head_size: int = 0


@dataclass(frozen=True)
class TraceAttention:
    """Attention by one implementation on inputs of one shape."""

    backend: str
    calls: int
    kernels: int
    gpu_ns: int
    shapes: str
    """Shapes of query, key and value, if they were recorded."""
    dtype: str
    alternative: FusedAlternative | None
    """The faster alternative to a slow implementation."""


@dataclass(frozen=True)
class TraceSection:
    """A part of the program that `record_function` annotates."""

    name: str
    calls: int
    host_ns: int
    """0 if it was recorded on the device only."""
    gpu_busy_ns: int
    gpu_span_ns: int
    """From the first to the last work launched in each call, summed over the calls."""
    kernels: int
    fewest_kernels: int
    most_kernels: int

    @property
    def idle_ns(self) -> int:
        return max(self.gpu_span_ns - self.gpu_busy_ns, 0)


@dataclass(frozen=True)
class TraceSteps:
    """The steps of the program, and the time and work of each."""

    found_by: str
    """What marks a step in the trace."""
    kernels: tuple[int, ...]
    host_ns: tuple[int, ...]
    gpu_busy_ns: tuple[int, ...]
    allocated_bytes: tuple[int, ...]
    """Allocated bytes at the end of each step; empty if memory was not recorded."""


@dataclass(frozen=True)
class Scheduler:
    """The calls of the scheduler's `step`, if stacks or annotations show them."""

    name: str
    calls: int
    host_ns: int
    idle_ns: int
    """Idle time of the device while the host was in them."""


@dataclass(frozen=True)
class LaunchStatistics:
    """How far the host was ahead of the devices."""

    launched: int
    calls: int
    call_median_ns: int
    latency_median_ns: int
    """Time from the start of the call to the start on the device."""
    latency_p95_ns: int
    latency_longest_ns: int
    queue_median: int
    """The number of unfinished launches at each launch."""
    queue_longest: int
    on_empty_queue: int
    """The number of launches at which the device had no work."""
    graph_launches: int
    graph_kernels: int


@dataclass(frozen=True)
class Compiled:
    """The code that torch.compile generated."""

    regions: int
    calls: int
    host_ns: int
    kernels: int
    gpu_busy_ns: int
    gpu_span_ns: int
    triton_kernels: int
    triton_ns: int
    compiling_ns: int
    """Time of compilation during the trace."""


@dataclass(frozen=True)
class MemoryUse:
    """The allocator of one device over time."""

    device: str
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    first_allocated_bytes: int
    last_allocated_bytes: int
    changes: int
    samples: tuple[tuple[int, int, int], ...]
    """Time, allocated and reserved bytes at the highest point of each of several equal parts of the trace."""


@dataclass(frozen=True)
class HostOp:
    """All calls of one operator on the host."""

    name: str
    kind: str
    calls: int
    self_ns: int
    total_ns: int


@dataclass(frozen=True)
class Collective:
    """The calls of one communication kernel, in order."""

    name: str
    durations_ns: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class TraceExplanation(Displayed):
    """Everything that diffprof found in one trace."""

    source: TraceSource
    threshold_ns: int
    """Shorter gaps are not explained one by one."""
    timelines: tuple[Timeline, ...]
    activity: tuple[DeviceActivity, ...]
    copies: tuple[Copies, ...]
    causes: tuple[IdleCause, ...]
    gaps: tuple[Gap, ...]
    """The longest gaps; `causes` covers all."""
    kinds: tuple[WorkKind, ...]
    kernels: tuple[KernelRow, ...]
    attention: tuple[TraceAttention, ...]
    sections: tuple[TraceSection, ...]
    steps: TraceSteps | None
    scheduler: Scheduler | None
    launches: LaunchStatistics | None
    compiled: Compiled | None
    memory: tuple[MemoryUse, ...]
    host_ops: tuple[HostOp, ...]
    collectives: tuple[Collective, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"<TraceExplanation of {self.source.path}: {self.source.events:,} events>"

    @property
    def total_ns(self) -> int:
        return sum(line.total_ns for line in self.timelines)

    @property
    def idle_ns(self) -> int:
        return sum(line.idle_ns for line in self.timelines)

    @property
    def gpu_ns(self) -> int:
        """The summed time of all kernels and copies; more than the busy time if streams overlap."""
        return sum(row.gpu_ns for row in self.kinds)
