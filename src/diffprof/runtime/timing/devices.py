"""Measure time on an accelerator with events on its streams, which are read later, without blocking the timed code."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

MILLISECOND = 1_000_000
SWEEP_AT = 64
"""The number of pending measurements that triggers the first sweep; later, twice what the last sweep left."""
MAX_OUTSTANDING = 8192


class Event(Protocol):
    """A moment on a stream, such as a `torch.cuda.Event`."""

    def record(self) -> None: ...
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_time(self, end: Any, /) -> float: ...


class AcceleratorBackend(Protocol):
    """The interface to an accelerator; tests have their own."""

    def index(self) -> int:
        """Index of the current device: events belong to one device."""

    def event(self) -> Event:
        """A new event that can be timed."""

    def is_capturing(self) -> bool:
        """Whether work is being captured into a graph, where nothing takes time yet."""

    def synchronize(self) -> None:
        """Wait for all work."""

    reading_waits: bool
    """Whether reading the time between two events waits for all work, including later work."""


class Mark(NamedTuple):
    """A recorded event, and the index of its device."""

    event: Event
    device: int


Receiver = Callable[[int | None], None]
"""Called with the nanoseconds between two marks, or None if they are unknown."""


class DeviceTimer:
    """Records marks on the accelerator in use, and delivers the time between them once it is known.

    `find` finds the accelerator. It is called for every section until its answer is final.
    """

    def __init__(self, find: Callable[[], tuple[AcceleratorBackend | None, bool]] | None = None) -> None:
        self._find = find if find is not None else TorchSearch()
        self._lock = threading.RLock()
        self._free: dict[int, list[Event]] = {}
        self._outstanding: deque[tuple[Mark, Mark, Receiver]] = deque()
        self._sweep_at = SWEEP_AT
        self.accelerator: AcceleratorBackend | None = None
        self.is_searching = True
        """Whether an accelerator may still come into use."""
        self.is_active = True
        """Whether sections need marks: an accelerator is in use, or may come into use."""

    def search(self) -> None:
        """Look for the accelerator in use."""
        self.accelerator, is_final = self._find()
        self.is_searching = not is_final
        self.is_active = self.is_searching or self.accelerator is not None

    def mark(self) -> Mark | None:
        """Record an event on the current stream; None if that is not possible."""
        accelerator = self.accelerator
        if accelerator is None:
            return None
        try:
            if accelerator.is_capturing():
                return None
            device = accelerator.index()
            event = self._free_event(device) or accelerator.event()
            event.record()
        except RuntimeError:
            return None  # the timed code will get the device's error from its own next call
        return Mark(event, device)

    def synchronize(self) -> None:
        """Wait for the accelerator, if there is one; not during graph capture, which waiting would break."""
        if self.accelerator is not None:
            # As above, the timed code will get the error itself.
            with contextlib.suppress(RuntimeError):
                if not self.accelerator.is_capturing():
                    self.accelerator.synchronize()

    def deliver(self, begin: Mark | None, end: Mark | None, receiver: Receiver) -> None:
        """Call `receiver` with the time between two marks as soon as it is known, without waiting for it."""
        if begin is None or end is None or begin.device != end.device:  # two accelerators have no common clock
            receiver(None)
            self.reuse(begin, end)
            return
        self._outstanding.append((begin, end, receiver))
        is_due = len(self._outstanding) >= (MAX_OUTSTANDING if self._reading_waits() else self._sweep_at)
        if is_due and self._lock.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self._lock.release()

    def resolve_all(self) -> None:
        """Wait for all pending measurements."""
        with self._lock:
            while self._outstanding:
                begin, end, receiver = self._outstanding.popleft()
                with contextlib.suppress(RuntimeError):
                    end.event.synchronize()
                self._resolve(begin, end, receiver)

    def _reading_waits(self) -> bool:
        return self.accelerator is not None and self.accelerator.reading_waits

    @property
    def pending_count(self) -> int:
        return len(self._outstanding)

    def _sweep(self) -> None:
        """Deliver all finished measurements, in any order."""
        for _ in range(len(self._outstanding)):
            begin, end, receiver = self._outstanding.popleft()
            if _is_done(end):
                self._resolve(begin, end, receiver)
            elif len(self._outstanding) >= MAX_OUTSTANDING:
                receiver(None)
            else:
                self._outstanding.append((begin, end, receiver))
        self._sweep_at = max(SWEEP_AT, 2 * len(self._outstanding))

    def _resolve(self, begin: Mark, end: Mark, receiver: Receiver) -> None:
        try:
            nanoseconds = max(round(begin.event.elapsed_time(end.event) * MILLISECOND), 0)
        except RuntimeError:
            receiver(None)
        else:
            receiver(nanoseconds)
        self.reuse(begin, end)

    def _free_event(self, device: int) -> Event | None:
        try:
            return self._free[device].pop()
        except (KeyError, IndexError):
            return None

    def reuse(self, *marks: Mark | None) -> None:
        """Reuse the events of these marks; not those of Metal, which stay finished."""
        for mark in marks:
            if mark is not None and not self._reading_waits():
                self._free.setdefault(mark.device, []).append(mark.event)


def _is_done(mark: Mark) -> bool:
    try:
        return mark.event.query()
    except RuntimeError:
        return True  # it will not change; resolving it reports an unknown time


class DeviceSum:
    """The sum of several intervals, delivered when the last of them is known."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._expected = 0
        self._nanoseconds: int | None = 0
        self._receiver: Receiver | None = None

    def expect(self) -> Receiver:
        with self._lock:
            self._expected += 1
        return self._add

    def finish(self, receiver: Receiver) -> None:
        """Deliver the sum once it is known; nothing if no interval is expected."""
        with self._lock:
            if self._expected:
                self._receiver = receiver
                self._deliver_if_complete()

    def _add(self, nanoseconds: int | None) -> None:
        with self._lock:
            if nanoseconds is None or self._nanoseconds is None:
                self._nanoseconds = None
            else:
                self._nanoseconds += nanoseconds
            self._expected -= 1
            self._deliver_if_complete()

    def _deliver_if_complete(self) -> None:
        if not self._expected and self._receiver is not None:
            self._receiver(self._nanoseconds)


class TorchSearch:
    """Finds the accelerator that torch uses, without importing torch or initializing a device.

    With `index`, it is that device; otherwise the current one at each moment.
    """

    def __init__(self, index: int | None = None) -> None:
        self._backend: Any = None
        self._index = index

    def __call__(self) -> tuple[AcceleratorBackend | None, bool]:
        """The accelerator if it is in use, and whether the answer is final."""
        if self._backend is None:
            torch = sys.modules.get("torch")
            accelerators = getattr(torch, "accelerator", None)  # missing while torch is just being imported
            if torch is None or accelerators is None:
                return None, False
            kind = accelerators.current_accelerator()
            if kind is None:
                return None, True  # torch was built for the CPU alone
            self._backend = getattr(torch, kind.type, None)
            if not hasattr(self._backend, "Event"):
                return None, True  # a custom device without timing
            if not hasattr(self._backend, "current_stream"):
                self._index = None  # Metal has one device and one stream
        if not is_in_use(self._backend):
            return None, False
        return TorchAccelerator(self._backend, self._index), True


def is_in_use(backend: Any) -> bool:
    """Whether the program uses ``torch.cuda``, ``torch.xpu``, ``torch.mps``...; this check does not initialize it."""
    # Metal needs no initialization: if it is available, it may be in use.
    ask = getattr(backend, "is_initialized", None) or getattr(backend, "is_available", None)
    return bool(ask is not None and ask())


class TorchAccelerator:
    """``torch.cuda``, ``torch.xpu``, ``torch.mps`` or a similar module: its current device, or that with `index`."""

    def __init__(self, backend: Any, index: int | None = None) -> None:
        self._backend = backend
        self._bound = index
        self._index: Callable[[], int] = getattr(backend, "current_device", lambda: 0)
        self._is_capturing: Callable[[], bool] = getattr(backend, "is_current_stream_capturing", lambda: False)
        # Metal commits all queued work and waits for it, for any two events.
        self.reading_waits = getattr(backend, "__name__", "").endswith("mps")

    def index(self) -> int:
        return int(self._index()) if self._bound is None else self._bound

    def event(self) -> Event:
        event: Event = self._backend.Event(enable_timing=True)
        if self.reading_waits:
            return _MetalEvent(event)
        return event if self._bound is None else _EventOfDevice(event, self._backend, self._bound)

    def is_capturing(self) -> bool:
        return bool(self._is_capturing())

    def synchronize(self) -> None:
        """Wait for the device; without an index, for every device that this process uses."""
        for index in devices_in_use(self._backend) if self._bound is None else (self._bound,):
            self._backend.synchronize(*(() if index is None else (index,)))


class _MetalEvent:
    """An event of Metal, which can be waited for only once: a second wait would block forever."""

    def __init__(self, event: Any) -> None:
        self._event = event

    def record(self) -> None:
        self._event.record()

    def query(self) -> bool:
        return bool(self._event.query())

    def synchronize(self) -> None:
        """Do nothing: `elapsed_time` waits, and would block forever if this had waited first."""

    def elapsed_time(self, end: _MetalEvent, /) -> float:
        try:
            return float(self._event.elapsed_time(end._event))
        except RuntimeError:
            # Separate threads record the two times, so that those of immediately successive events can be reversed.
            return 0.0


class _EventOfDevice:
    """An event on the current stream of a given device, which may not be the current device."""

    def __init__(self, event: Any, backend: Any, index: int) -> None:
        self._event, self._backend, self._device = event, backend, index

    def record(self) -> None:
        self._event.record(self._backend.current_stream(self._device))

    def query(self) -> bool:
        return bool(self._event.query())

    def synchronize(self) -> None:
        self._event.synchronize()

    def elapsed_time(self, end: _EventOfDevice, /) -> float:
        return float(self._event.elapsed_time(end._event))


def devices_in_use(backend: Any) -> list[int | None]:
    """Indices of the devices on which this process has a context; [None], for the current one, if that is unknown.

    Waiting for any other device would create a context there, which takes hundreds of MiB.
    """
    has_context = getattr(getattr(sys.modules.get("torch"), "_C", None), "_cuda_hasPrimaryContext", None)
    if has_context is None or not getattr(backend, "__name__", "").endswith("cuda"):
        return [None]
    return [index for index in range(backend.device_count()) if has_context(index)] or [None]
