"""The measured half of a profile: raw samples of real runs, in whole nanoseconds and bytes. Statistics are derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HOST_TO_DEVICE, DEVICE_TO_HOST, FROM_DISK = "host to device", "device to host", "from disk"


@dataclass(frozen=True)
class Span:
    """An interval on the host and, if one was used, on the device; both since the start of the iteration."""

    start_ns: int
    host_ns: int
    device_start_ns: int | None = None
    device_ns: int | None = None
    """Device time from events on its stream; None without such a device."""

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.host_ns


@dataclass(frozen=True)
class Sample:
    """One section of one iteration: a component call, a step of the scheduler, a method of the pipeline."""

    section: str
    """``unet_forward``, ``vae_decode``, ``scheduler_step``, ``encode_prompt``, ``postprocess``..."""
    span: Span
    component: str | None = None
    """Slot of the component; None if it is not a component call."""
    parent: int | None = None
    """Index of the enclosing sample in the same iteration."""
    step: int | None = None
    """Index of its denoising step in `Iteration.steps`; None outside of the loop."""
    call: int | None = None
    """Index of the counted call in `Profile.calls`; None if it was not counted."""
    digest: str | None = None
    """A digest of the encoded prompt; equal prompts have equal digests."""
    failed: bool = False
    device: str | None = None
    """The device, such as ``cuda:1``, if it is not the pipeline's main device."""


@dataclass(frozen=True)
class StepSpan:
    """One denoising step: from the first call of a denoiser to the end of the scheduler's step."""

    scheduler: str
    """Slot of the scheduler that ended it; a cascade has several."""
    number: int
    """The number of the step, from 0 for each scheduler."""
    span: Span


@dataclass(frozen=True)
class MemoryPoint:
    """The memory in use at one moment. None if this machine has no such memory, or does not report it."""

    label: str
    """``start``, ``unet_forward begins``, ``unet_forward ends``, ``end``..."""
    at_ns: int
    """On the host, since the iteration began."""
    rss_bytes: int
    peak_rss_bytes: int
    """The peak since the start of the process."""
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_allocated_bytes: int | None = None
    """The peak since the previous point."""
    sample: int | None = None
    """Number of the sample that begins or ends at this point."""


@dataclass(frozen=True)
class DevicePoint:
    """The memory of a further device at one moment, if a pipeline uses several."""

    device: str
    """The name of the device, such as ``cuda:1``."""
    label: str
    at_ns: int
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_allocated_bytes: int | None = None
    """The peak since the previous point."""
    sample: int | None = None


@dataclass(frozen=True)
class Move:
    """Weights that offloading moved at one time for one component."""

    component: str
    direction: str
    """`HOST_TO_DEVICE`, `DEVICE_TO_HOST` or `FROM_DISK`."""
    moved_bytes: int
    at_ns: int
    """On the host, since the iteration began."""
    host_ns: int
    """How long the host was busy with the move."""
    step: int | None = None
    hidden: bool | None = None
    """Whether it overlapped with other work on its own stream; None if that is unknown."""
    device_ns: int | None = None
    """Time of the copy itself, from events on the device's stream; None if it was not timed."""


@dataclass(frozen=True)
class CacheEvent:
    """A lookup in a cache: a hit or a miss."""

    cache: str
    """The name of the cache, such as ``FirstBlockCache``, or that of a `CacheRecorder`."""
    hit: bool
    at_ns: int
    step: int | None = None
    component: str | None = None
    module: str = ""
    """Path of the module that was skipped or computed, in its component."""


@dataclass(frozen=True)
class Iteration:
    """One call of the pipeline."""

    began_ns: int
    """Since the measurement began."""
    wall: Span
    """The whole call, including the wait for the device at its end."""
    samples: tuple[Sample, ...] = ()
    """In the order in which they began."""
    steps: tuple[StepSpan, ...] = ()
    memory: tuple[MemoryPoint, ...] = ()
    moves: tuple[Move, ...] = ()
    caches: tuple[CacheEvent, ...] = ()
    warmup: bool = False
    traced: bool = False
    """Whether a trace was recorded during the call, which slows it down."""
    cpu_ns: int | None = None
    """CPU time of the process during the call, all threads together; None if it was not measured."""
    entry: str = "__call__"
    """What was called: the pipeline itself, or a section outside of its call."""
    error: str | None = None
    """Why it did not complete; None if it did."""
    device_memory: tuple[DevicePoint, ...] = ()
    """The memory of further devices, at the same moments as `memory`."""


@dataclass(frozen=True)
class SystemPoint:
    """One sample of the background sampler. None for values that this machine does not report."""

    at_ns: int
    """Since the measurement began."""
    cpu_percent: float
    """CPU use of this process, relative to one core: 200 is two busy cores."""
    rss_bytes: int
    read_bytes_per_second: float | None = None
    written_bytes_per_second: float | None = None
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    gpu_watts: float | None = None
    gpu_mhz: float | None = None
    """Clock of the multiprocessors."""
    gpu_celsius: float | None = None
    gpu_throttle: str | None = None
    """Reasons for throttling, such as ``power cap`` or ``heat``, joined by commas; empty if there are none."""


@dataclass(frozen=True)
class DeviceReading:
    """One sample of a GPU other than the main one. None for values that it does not report."""

    device: str
    """The name of the device, such as ``cuda:1``."""
    at_ns: int
    """Since the measurement began."""
    percent: float | None = None
    memory_bytes: int | None = None
    """Memory in use by all programs."""
    watts: float | None = None
    mhz: float | None = None
    celsius: float | None = None
    throttle: str | None = None
    """As `SystemPoint.gpu_throttle`."""


@dataclass(frozen=True)
class RankPart:
    """The part of one component that one rank of a distributed run executed, in one generation."""

    rank: int
    device: str
    """Name and place, such as ``NVIDIA H100 (cuda:1)``."""
    component: str
    """Empty for the whole call."""
    calls: int
    median_ns: int
    macs: int | None
    """None if it is not known."""
    sent_bytes: int | None
    """Bytes sent to collectives."""
    received_bytes: int | None
    peak_bytes: int | None
    """Peak memory allocated on its device."""


@dataclass(frozen=True)
class Device:
    """The device that the pipeline ran on, and its peaks."""

    name: str
    kind: str
    """cpu, cuda, mps, xpu..."""
    memory_bytes: int | None = None
    threads: int | None = None
    """Threads that torch uses, on a CPU."""
    peak_flops_per_second: Mapping[str, float] = field(default_factory=dict)
    """Peak FLOP/s by dtype; two FLOPs per multiply-accumulate."""
    peak_source: str | None = None
    """The source of a published peak, or how it was measured."""
    bytes_per_second: float | None = None
    """Published bandwidth of its memory; None if that is not known."""


@dataclass(frozen=True)
class CountMismatch:
    """How the calls of an iteration differ from the counted ones."""

    matched_calls: int
    """The number of calls, from the first on, that match the counted ones."""
    section: str | None = None
    """The first section that does not match, from which on no call is matched; None if all match."""
    uncounted: tuple[str, ...] = ()
    """Sections that ran but were not counted."""


LIMITATIONS = (
    "no_samples", "not_evaluated", "not_counted", "count_interrupted", "component_alone", "no_trace", "trace_problem",
    "short_trace", "incomplete", "late_call", "no_device", "no_device_memory", "more_warmups",
    "launch_times", "time_budget",
)  # fmt: skip


@dataclass(frozen=True)
class Limitation:
    """Something that could not be measured or counted as requested."""

    kind: str
    """One of `LIMITATIONS`."""
    detail: str = ""
    """The message of an error or a library, or the section."""
    done: int | None = None
    """The number of completed steps of a trace, or calls of a run."""
    requested: int | None = None
    """The requested number."""


@dataclass(frozen=True)
class Measured:
    """Real runs of the request: every iteration that ran, warm-ups included and marked."""

    device: Device
    iterations: tuple[Iteration, ...]
    system: tuple[SystemPoint, ...] = ()
    load_seconds: float | None = None
    """Time to load the pipeline, if it was measured."""
    repeated: bool = False
    """True if the same call was repeated in order to measure it; False if a program made its own calls."""
    turns: str | None = None
    """Identifies an interleaved measurement: iterations with equal numbers ran one right after the other."""
    nominal_macs: Mapping[str, int] = field(default_factory=dict)
    """For each component with a cache: the MACs of one iteration without the cache."""
    cached_bytes: Mapping[str, int] = field(default_factory=dict)
    """The most memory that each cache held at one time."""
    mismatches: tuple[CountMismatch, ...] = ()
    """How iterations differ from the count; empty if they do not."""
    notes: tuple[str, ...] = ()
    """What could not be measured or counted, as sentences of older files; newer ones have `limitations`."""
    limitations: tuple[Limitation, ...] = ()
    """What could not be measured or counted, and why."""
    other_devices: Mapping[str, Device] = field(default_factory=dict)
    """Further devices than the main one that the pipeline ran on, by name, such as ``cuda:1``."""
    readings: tuple[DeviceReading, ...] = ()
    """Samples of those devices during the calls."""
    preparation: Mapping[str, str] = field(default_factory=dict)
    """How the pipeline was prepared, as the options of ``diffprof run`` say it: ``{"compile": "regional"}``."""
    ranks: tuple[RankPart, ...] = ()
    """The parts of every process, if several made the calls together; everything else is that of rank 0."""

    @property
    def complete(self) -> bool:
        """Whether every iteration completed."""
        return all(iteration.error is None for iteration in self.iterations)

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices, the main one first."""
        return (self.device, *self.other_devices.values())

    @property
    def timed_iterations(self) -> tuple[Iteration, ...]:
        """The iterations for statistics: whole calls after the warm-up, or else the best available."""
        whole = [iteration for iteration in self.iterations if iteration.entry == "__call__"] or self.iterations
        ended = [iteration for iteration in whole if iteration.error is None] or whole
        plain = [iteration for iteration in ended if not iteration.traced] or ended
        return tuple([iteration for iteration in plain if not iteration.warmup] or plain)
