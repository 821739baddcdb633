"""Sections of code, timed: nested by path, right in threads and asyncio, and cheap."""

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
"""Gives nanoseconds since some moment."""
Annotate = Callable[[str], Any]
"""Gives a context manager that marks a span of that name in a trace."""


class SectionRecorder:
    """Times sections into `timings`: on the host by `clock`, and by `device` on the accelerator that is in use."""

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
        """A context manager that times what happens inside it; one that does nothing while disabled.

        With `sync` the accelerator is waited for at both ends, so that the host's time is that of the work itself.
        """
        return Section(self, name, sync) if self.enabled else DISABLED_SECTION

    def around(self, opened: Section | None) -> Section:
        """This recorder's innermost section around `opened`, which may be another recorder's."""
        while opened is not None and opened.recorder is not self:
            opened = opened.parent
        return opened if opened is not None else self.root


class Section:
    """One timed stretch of code. What is written out here instead of called is so for speed."""

    __slots__ = ("began", "extras", "name", "nanoseconds", "parent", "recorder", "series", "state", "sync")

    parent: Section | None
    """The section around it, of whatever recorder."""
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
        self.go_in()
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
        if kind is not None and kind is not GeneratorExit:  # closing a generator early is no failure
            series.add_error()
        self.go_out()

    @property
    def seconds(self) -> float:
        """What it took on the host, once it has ended."""
        return self.nanoseconds / NANOSECONDS

    def span_name(self) -> str:
        """What it is called in a trace."""
        return self.name

    def go_in(self) -> None:
        """Become the innermost section of this thread or task."""
        recorder = self.recorder
        # One that was left early may still be around what is innermost now, and must not become its own parent.
        self.parent = parent = _innermost.get() if self.state == CLOSED else None
        if parent is None or parent.recorder is not recorder:
            parent = recorder.around(parent)
        series = parent.series.children.get(self.name)
        self.series = series if series is not None else recorder.timings.child(parent.series, self.name)
        self.state = OPEN
        _innermost.set(self)
        self.extras = extras_of(self) if recorder.device.watched or _annotate is not None else None

    def go_out(self) -> None:
        """Give the place back to the section around it."""
        if _innermost.get() is not self:
            # Generators may leave sections in another order than they entered them. Whoever is innermost now does not
            # give the place back to one that was left already.
            self.state = LEFT_EARLY
            return
        self.state = CLOSED
        parent = self.parent
        while parent is not None and parent.state == LEFT_EARLY:
            parent = parent.parent
        _innermost.set(parent)


class ResumedSection(Section):
    """A stretch of code that pauses, as a generator does: counted once, with the time that it ran.

    What is open inside it pauses with it, and is open again when it is resumed.
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
            self.go_in()
        else:
            # However it is resumed, it belongs to where it was started.
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
        """The last pause is over: count it, unless it never ran."""
        if self.state == OPEN:
            self.state = CLOSED
            self.series.add(self.nanoseconds)
            self._device.finish(self.series.add_device)
            if failed:
                self.series.add_error()


class Extras:
    """What a section does beyond reading the host's clock: marks on the accelerator, a span in a running trace."""

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
            self._device.hand_over(self._begin, self._device.mark(), receiver)
        if self._sync:
            self._device.synchronize()
        if self._annotation is not None:
            self._annotation.__exit__(None, None, None)


def extras_of(section: Section) -> Extras | None:
    """What there is to do for a section, if anything."""
    device = section.recorder.device
    if device.looking:
        device.look()
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


def annotation(name: str) -> Any:
    """A span of that name, begun in the trace that is running; None where none is. It has to be ended by its user."""
    if _annotate is None:
        return None
    span = _annotate(name)
    span.__enter__()
    return span


def annotate_with(annotate: Annotate | None) -> None:
    """Have every section mark a span in the trace that is running; None when it ends."""
    global _annotate
    _annotate = annotate


DISABLED_SECTION = DisabledSection()
CLOSED, OPEN, LEFT_EARLY = range(3)
_annotate: Annotate | None = None
_innermost: ContextVar[Section | None] = ContextVar("diffprof_innermost_section", default=None)
