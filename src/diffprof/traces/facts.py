"""What a trace says, as a record: times in whole nanoseconds, moments counted from the beginning of the trace."""

from __future__ import annotations

from dataclasses import dataclass, field

# Why a device was idle.
HOST = "host"
"""The host had not launched anything: it could not keep up."""
SYNCHRONISATION = "synchronisation"
"""The host had waited for the device, and so had launched nothing ahead."""
LAUNCH = "launch"
"""The launching call was under way."""
STREAM = "stream"
"""The work was in the queue, and waited for another stream or for a copy."""
QUEUE = "queue"
"""The work was in the queue behind what had just ended on its stream: the pause between two kernels."""
SHORT = "short"
"""All gaps below the threshold, together."""
UNEXPLAINED = "unexplained"
"""The trace has no record of the call that launched what came after the gap."""
CAUSES = (HOST, SYNCHRONISATION, LAUNCH, STREAM, QUEUE, SHORT, UNEXPLAINED)

# Kinds of work on a device.
KINDS = ("gemm", "convolution", "attention", "norm", "elementwise", "reduction", "copy", "communication", "other")

# Implementations of attention. Slow ones write the scores to memory.
SLOW_ATTENTION = ("math", "eager")


@dataclass(frozen=True)
class Source:
    """Where a trace comes from and what was recorded in it."""

    path: str
    events: int
    platform: str
    """cuda, rocm, xpu or cpu"""
    device_names: tuple[str, ...]
    rank: int | None
    world_size: int | None
    recorded_ns: int
    """From the first to the last event."""
    origin_ns: int
    """What the trace's own clock says at the beginning."""
    clock_ns: int | None
    """Nanoseconds since 1970 at the beginning, where the trace tells."""
    has_stacks: bool
    has_shapes: bool
    has_launches: bool
    notes: tuple[str, ...] = ()
    """What is odd about the file."""


@dataclass(frozen=True)
class Timeline:
    """How one device spent the time from its first to its last piece of work."""

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
    """From the beginning of the trace to the first work: start-up, which is not part of the total."""
    before_what: str
    """What the host did in most of that time."""
    after_ns: int
    """From the last work to the end of the trace."""
    after_what: str

    @property
    def idle_ns(self) -> int:
        return self.total_ns - self.busy_ns

    @property
    def hidden_communication_ns(self) -> int:
        """Behind computation."""
        return self.communication_ns - self.exposed_communication_ns

    @property
    def hidden_copy_ns(self) -> int:
        """Behind computation or communication."""
        return self.copy_ns - self.exposed_copy_ns

    @property
    def busy_share(self) -> float:
        return self.busy_ns / self.total_ns if self.total_ns else 0.0


@dataclass(frozen=True)
class Activity:
    """What one device did in each of some equal parts of its time line."""

    device: int
    parts: tuple[tuple[int, int, int, int, int], ...]
    """Start, length, computation, exposed communication and exposed copies; the rest of the length is idle."""


@dataclass(frozen=True)
class Copies:
    """Copies of one direction between memories of one sort."""

    direction: str
    """H2D, D2H, D2D, P2P, H2H"""
    memory: str
    """pinned, pageable, device, or nothing where the trace does not tell"""
    count: int
    size_bytes: int | None
    duration_ns: int
    exposed_ns: int
    """While nothing else ran on the device."""

    @property
    def bytes_per_second(self) -> float | None:
        return self.size_bytes * 1e9 / self.duration_ns if self.size_bytes is not None and self.duration_ns else None


@dataclass(frozen=True)
class Gap:
    """One time in which a device had nothing to do."""

    device: int
    start_ns: int
    length_ns: int
    cause: str
    what: str
    """The call, operator or function that it is laid to."""
    where: str
    """The Python function around it, where stacks were recorded."""
    before: str
    after: str
    """What ran before and after it."""


@dataclass(frozen=True)
class IdleCause:
    """All gaps of one device that have one cause."""

    device: int
    cause: str
    what: str
    where: str
    gaps: int
    idle_ns: int
    longest_ns: int
    mostly: str = ""
    """What the host called from there for longer than anything else."""
    mostly_share: float = 0.0
    """Of the time that it was late."""


@dataclass(frozen=True)
class KernelRow:
    """A kernel by its name."""

    name: str
    kind: str
    count: int
    gpu_ns: int
    longest_ns: int


@dataclass(frozen=True)
class KindRow:
    """Work of one kind on a device."""

    kind: str
    count: int
    gpu_ns: int


@dataclass(frozen=True)
class AttentionRow:
    """Attention by one implementation on inputs of one shape."""

    backend: str
    calls: int
    kernels: int
    gpu_ns: int
    shapes: str
    """Query, key and value, where recorded."""
    dtype: str
    fast: str
    """For a slow one: which fast one could have run, or why none."""


@dataclass(frozen=True)
class SectionRow:
    """A part of the program that was annotated."""

    name: str
    calls: int
    host_ns: int
    """0 where it shows on the device only."""
    gpu_busy_ns: int
    gpu_span_ns: int
    """From the first to the last work that was launched in each call, added up."""
    kernels: int
    fewest_kernels: int
    most_kernels: int

    @property
    def idle_ns(self) -> int:
        return max(self.gpu_span_ns - self.gpu_busy_ns, 0)


@dataclass(frozen=True)
class Steps:
    """The steps of the program and what each took."""

    found_by: str
    """What marks a step in the trace."""
    kernels: tuple[int, ...]
    host_ns: tuple[int, ...]
    gpu_busy_ns: tuple[int, ...]
    allocated_bytes: tuple[int, ...]
    """At the end of each step; empty where memory was not recorded."""


@dataclass(frozen=True)
class Scheduler:
    """The scheduler's own steps, where stacks or annotations show them."""

    name: str
    calls: int
    host_ns: int
    idle_ns: int
    """Of the device, while the host was in them."""


@dataclass(frozen=True)
class LaunchFigures:
    """How far ahead of the device the host was."""

    launched: int
    calls: int
    call_median_ns: int
    latency_median_ns: int
    """From the beginning of the call to the start on the device."""
    latency_p95_ns: int
    latency_longest_ns: int
    queue_median: int
    """How much was launched and not finished when something was launched."""
    queue_longest: int
    on_empty_queue: int
    """How often the device had nothing left when something was launched."""
    graph_launches: int
    graph_kernels: int


@dataclass(frozen=True)
class Compiled:
    """What torch.compile made."""

    regions: int
    calls: int
    host_ns: int
    kernels: int
    gpu_busy_ns: int
    gpu_span_ns: int
    triton_kernels: int
    triton_ns: int
    compiling_ns: int
    """Compilation that went on while the trace was recorded."""


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
    """Time, allocated and reserved bytes: the highest of each of some equal parts of the time."""


@dataclass(frozen=True)
class HostOp:
    """An operator on the host, by the time that it spent itself."""

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


@dataclass(frozen=True)
class TraceReport:
    """All that diffprof found in one trace."""

    source: Source
    threshold_ns: int
    """Gaps below it are not looked at one by one."""
    timelines: tuple[Timeline, ...]
    activity: tuple[Activity, ...]
    copies: tuple[Copies, ...]
    causes: tuple[IdleCause, ...]
    gaps: tuple[Gap, ...]
    """The longest; `causes` has all."""
    kinds: tuple[KindRow, ...]
    kernels: tuple[KernelRow, ...]
    attention: tuple[AttentionRow, ...]
    sections: tuple[SectionRow, ...]
    steps: Steps | None
    scheduler: Scheduler | None
    launches: LaunchFigures | None
    compiled: Compiled | None
    memory: tuple[MemoryUse, ...]
    host_ops: tuple[HostOp, ...]
    collectives: tuple[Collective, ...] = field(default=(), repr=False)

    @property
    def total_ns(self) -> int:
        return sum(line.total_ns for line in self.timelines)

    @property
    def idle_ns(self) -> int:
        return sum(line.idle_ns for line in self.timelines)

    @property
    def gpu_ns(self) -> int:
        """The time of all kernels and copies, added up; more than the busy time where streams overlap."""
        return sum(row.gpu_ns for row in self.kinds)
