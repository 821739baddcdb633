"""A clock that only moves when told, an accelerator with streams that run behind the host, and its allocator."""

from __future__ import annotations

from dataclasses import dataclass, field

from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.memory_snapshots import AllocatorMemory

MILLISECOND = 1_000_000


class FakeClock:
    """The host's time in nanoseconds."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def pass_milliseconds(self, milliseconds: float) -> None:
        self.now += round(milliseconds * MILLISECOND)


class FakeEvent:
    """A moment on a stream: known once the accelerator has come that far."""

    def __init__(self, accelerator: FakeAccelerator) -> None:
        self._accelerator = accelerator
        self.at: float | None = None
        self.device = -1
        self.failing = False

    def record(self) -> None:
        if self._accelerator.broken:
            raise RuntimeError("device-side assert triggered")
        if self.device not in (-1, self._accelerator.device):
            raise RuntimeError("Event device does not match")
        self.device = self._accelerator.device
        self.at = self._accelerator.busy_until()

    def query(self) -> bool:
        assert self.at is not None
        return self.at <= self._accelerator.progress

    def synchronize(self) -> None:
        assert self.at is not None
        self._accelerator.event_waits += 1
        self._accelerator.progress = max(self._accelerator.progress, self.at)

    def elapsed_time(self, end: FakeEvent, /) -> float:
        assert self.at is not None and end.at is not None
        assert end.query(), "asked for before the work was done"
        if self.failing:
            raise RuntimeError("an event of a captured graph")
        return end.at - self.at


@dataclass
class FakeAccelerator:
    """Work of given lengths is queued on streams at once and done when `progress` (in ms) says so."""

    progress: float = 0.0
    stream: str = "default"
    device: int = 0
    broken: bool = False
    in_capture: bool = False
    ends: dict[tuple[int, str], float] = field(default_factory=dict)
    made: list[FakeEvent] = field(default_factory=list)
    synchronized: int = 0
    event_waits: int = 0
    reading_waits: bool = False

    def launch(self, milliseconds: float) -> None:
        self.ends[self.device, self.stream] = self.busy_until() + milliseconds

    def busy_until(self) -> float:
        return self.ends.get((self.device, self.stream), 0.0)

    def index(self) -> int:
        return self.device

    def event(self) -> FakeEvent:
        self.made.append(FakeEvent(self))
        return self.made[-1]

    def is_capturing(self) -> bool:
        return self.in_capture

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("device-side assert triggered")
        self.synchronized += 1
        self.progress = max(self.progress, *self.ends.values(), 0.0)


def timer_of(accelerator: FakeAccelerator | None) -> DeviceTimer:
    return DeviceTimer(lambda: (accelerator, True))


@dataclass
class FakeAllocator:
    """The memory of a device as a test sets it, in MiB; the peak is kept as a real one keeps it."""

    allocated: float = 0
    reserved: float = 0
    peak: float = 0
    present: bool = True

    def now(self, allocated: float, reserved: float, peak: float | None = None) -> None:
        self.allocated, self.reserved = allocated, reserved
        self.peak = max(self.peak, allocated, peak or 0)

    def read(self) -> AllocatorMemory | None:
        figures = (round(number * 1024**2) for number in (self.allocated, self.reserved, self.peak))
        return AllocatorMemory(*figures) if self.present else None

    def reset_peak(self) -> None:
        self.peak = self.allocated


class FakeMetal:
    """``torch.mps`` with its events as torch has them: an event is told once that it has ended, and whoever waits for
    that a second time waits forever; two events at one moment are refused."""

    __name__ = "torch.mps"

    def __init__(self) -> None:
        self.launched = 0.0
        self.recorded: list[MetalEvent] = []

    def launch(self, milliseconds: float) -> None:
        self.launched += milliseconds

    def is_available(self) -> bool:
        return True

    def synchronize(self) -> None:
        for event in self.recorded:
            event.has_ended = event.is_told = True
        self.recorded.clear()

    def Event(self, enable_timing: bool) -> MetalEvent:
        assert enable_timing
        return MetalEvent(self)


class MetalEvent:
    """One of its events."""

    def __init__(self, metal: FakeMetal) -> None:
        self._metal = metal
        self.at = 0.0
        self.has_ended = self.is_told = False

    def record(self) -> None:
        self.at, self.has_ended = self._metal.launched, False
        self._metal.recorded.append(self)

    def query(self) -> bool:
        return self.has_ended

    def synchronize(self) -> None:
        if not self.has_ended:
            self._metal.synchronize()
            self.wait()

    def wait(self) -> None:
        assert self.is_told, "this waits forever"
        self.is_told = False

    def elapsed_time(self, end: MetalEvent, /) -> float:
        self._metal.synchronize()
        end.wait()
        if end.at <= self.at:
            raise RuntimeError("End event was not recorded after start event")
        return end.at - self.at
