"""Timed sections of code: nested by path, correct in threads and asyncio, and with low overhead."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from diffprof.errors import RequestError
from diffprof.runtime.timing.devices import DeviceSum, DeviceTimer, Receiver
from diffprof.runtime.timing.distributions import NANOSECONDS
from diffprof.runtime.timing.statistics import SectionSeries, Timings

Clock = Callable[[], int]
"""Returns nanoseconds since some moment."""
Annotate = Callable[[str], Any]
"""Returns a context manager that marks a span of that name in a trace."""
CLOSED, OPEN, LEFT_EARLY = range(3)

_annotate: Annotate | None = None
_innermost: ContextVar[Section | None] = ContextVar("diffprof_innermost_section", default=None)


class SectionRecorder:
    """Records the times of sections in `timings`: host time from `clock`, and device time from `device`."""

    __slots__ = ("clock", "device", "enabled", "root", "timings")

    def __init__(
        self, timings: Timings | None = None, clock: Clock = time.perf_counter_ns, device: DeviceTimer | None = None
    ) -> None:
        self.timings = timings if timings is not None else Timings()
        self.clock = clock
        self.device = device if device is not None else DeviceTimer()
        self.enabled = True
        self.root = Section(self, "")
        self.root.series = self.timings.root
        self.root.state = OPEN
        self.timings.call_before_reading(self.device.resolve_all)

    def section(self, name: str, sync: bool = False) -> Section | DisabledSection:
        """A context manager that times its block; does nothing while the recorder is disabled.

        With `sync`, both ends wait for the accelerator, so that the host time is that of the work itself.
        """
        return Section(self, name, sync) if self.enabled else DISABLED_SECTION

    def enclosing_section(self, section: Section | None) -> Section:
        """This recorder's innermost section around `section`, which may belong to another recorder."""
        while section is not None and section.recorder is not self:
            section = section.parent
        return section if section is not None else self.root


class Section:
    """One timed block of code. Functions are inlined here for speed."""

    __slots__ = ("began", "extras", "name", "nanoseconds", "parent", "recorder", "series", "state", "sync")

    parent: Section | None
    """The section around it, of any recorder."""
    series: SectionSeries
    began: int
    nanoseconds: int
    extras: Extras | None

    def __init__(self, recorder: SectionRecorder, name: str, sync: bool = False) -> None:
        self.recorder = recorder
        self.name = name
        self.sync = sync
        self.state = CLOSED

    def __enter__(self) -> Section:
        if self.state == OPEN:
            raise RequestError(f"The section {self.name!r} is open already; make a new one for each `with`.")
        self.enter()
        self.began = self.recorder.clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.extras is not None:
            self.extras.end(self.series.add_device)
        self.nanoseconds = nanoseconds = self.recorder.clock() - self.began
        series = self.series
        samples = series.samples
        samples.append(nanoseconds)
        if len(samples) >= series.limit:
            series.fold()
        if kind is not None and kind is not GeneratorExit:  # closing a generator early is not a failure
            series.add_error()
        self.leave()

    @property
    def seconds(self) -> float:
        """Host time, once the section has ended."""
        return self.nanoseconds / NANOSECONDS

    def span_name(self) -> str:
        """The name of the section in a trace."""
        return self.name

    def enter(self) -> None:
        """Become the innermost section of this thread or task."""
        recorder = self.recorder
        # A section that was left early may still enclose the innermost one, and must not become its own parent.
        self.parent = parent = _innermost.get() if self.state == CLOSED else None
        if parent is None or parent.recorder is not recorder:
            parent = recorder.enclosing_section(parent)
        series = parent.series.children.get(self.name)
        self.series = series if series is not None else recorder.timings.child(parent.series, self.name)
        self.state = OPEN
        _innermost.set(self)
        self.extras = extras_of(self) if recorder.device.is_active or _annotate is not None else None

    def leave(self) -> None:
        """Make the section around it the innermost one again."""
        if _innermost.get() is not self:
            # Generators may leave sections in a different order than they entered them, so skip those that were left
            # already.
            self.state = LEFT_EARLY
            return
        self.state = CLOSED
        parent = self.parent
        while parent is not None and parent.state == LEFT_EARLY:
            parent = parent.parent
        _innermost.set(parent)


class ResumedSection(Section):
    """A section that can pause, as a generator does: recorded once, with the time that it ran.

    Sections inside it pause and resume with it.
    """

    __slots__ = ("_device", "_inside", "_outside")

    def __init__(self, recorder: SectionRecorder, name: str) -> None:
        super().__init__(recorder, name)
        self.nanoseconds = 0
        self._inside: Section | None = None
        self._outside: Section | None = None
        self._device = DeviceSum()

    def __enter__(self) -> Section:
        self._outside = _innermost.get()
        if self._inside is None:
            self.enter()
        else:
            # Its parent is where it was started, not where it is resumed.
            _innermost.set(self._inside)
            self.extras = extras_of(self)
        self.began = self.recorder.clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.extras is not None:
            self.extras.end(self._device.expect())
        self.nanoseconds += self.recorder.clock() - self.began
        self._inside = _innermost.get()
        _innermost.set(self._outside)

    def finish(self, failed: bool) -> None:
        """Record it after its last pause, unless it never ran."""
        if self.state == OPEN:
            self.state = CLOSED
            self.series.add(self.nanoseconds)
            self._device.finish(self.series.add_device)
            if failed:
                self.series.add_error()


class Extras:
    """The extras of a section besides the host clock: marks on the accelerator, and a span in a running trace."""

    __slots__ = ("_annotation", "_begin", "_device", "_sync")

    def __init__(self, section: Section) -> None:
        self._device = section.recorder.device
        self._sync = section.sync
        self._annotation = _annotate(section.span_name()) if _annotate is not None else None
        if self._annotation is not None:
            self._annotation.__enter__()
        if self._sync:
            self._device.synchronize()
        self._begin = self._device.mark()

    def end(self, receiver: Receiver) -> None:
        if self._device.accelerator is not None:
            self._device.deliver(self._begin, self._device.mark(), receiver)
        if self._sync:
            self._device.synchronize()
        if self._annotation is not None:
            self._annotation.__exit__(None, None, None)


def extras_of(section: Section) -> Extras | None:
    """The extras of a section; None if there are none."""
    device = section.recorder.device
    if device.is_searching:
        device.search()
    return None if device.accelerator is None and _annotate is None else Extras(section)


class DisabledSection:
    """A section of a recorder that is disabled."""

    __slots__ = ()

    def __enter__(self) -> DisabledSection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


DISABLED_SECTION = DisabledSection()


def annotation(name: str) -> Any:
    """Begin a span in the running trace, which the caller has to end; None if no trace is running."""
    if _annotate is None:
        return None
    span = _annotate(name)
    span.__enter__()
    return span


def annotate_with(annotate: Annotate | None) -> None:
    """Make every section a span of the running trace; None when the trace ends."""
    global _annotate
    _annotate = annotate
