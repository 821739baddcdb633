"""Record samples, steps and memory of one call of a monitored pipeline while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from diffprof.record.measured import CacheEvent, DevicePoint, Iteration, MemoryPoint, Move, Sample, Span, StepSpan
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.timing import sections
from diffprof.runtime.timing import trace_recorder as traces
from diffprof.runtime.timing.devices import MILLISECOND, DeviceTimer, Mark
from diffprof.runtime.timing.sections import Clock


class Interval:
    """A start and an end, each with a time on the host clock and a mark on the device."""

    __slots__ = ("annotation", "began", "began_mark", "ended", "ended_mark")

    def __init__(self, began: int, mark: Mark | None, annotation: Any = None) -> None:
        self.began, self.began_mark = began, mark
        self.ended, self.ended_mark = began, mark
        self.annotation = annotation


class MarkedInterval(Interval):
    """An interval that is known only on the device."""

    def __init__(self, began: Mark | None, ended: Mark | None) -> None:
        super().__init__(0, began)
        self.ended_mark = ended


class OpenSample(Interval):
    """A section that is running or has run."""

    __slots__ = ("component", "digest", "failed", "number", "parent", "section", "step")

    number: int
    section: str
    component: str | None
    parent: OpenSample | None
    step: OpenStep | None
    digest: str | None
    failed: bool


class OpenStep(Interval):
    """A denoising step; its scheduler is unknown until the step ends."""

    __slots__ = ("number", "scheduler")

    number: int
    scheduler: str | None


class OtherDevice(NamedTuple):
    """A device of some component other than the main device."""

    name: str
    """The name of the device, such as ``cuda:1``."""
    timer: DeviceTimer


class IterationRecorder:
    """Records one call of a pipeline, on the thread that makes it."""

    def __init__(
        self,
        owner: object,
        clock: Clock,
        places: Mapping[int, tuple[str, str]],
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
        others: Mapping[str, OtherDevice] | None = None,
    ) -> None:
        """`others` are the devices of components that do not run on the main one, by slot."""
        self.owner = owner
        """The monitor of the pipeline."""
        self._clock = clock
        self._places = places
        self._device = device
        self._others = others or {}
        self._memory_reader = memory if memory is not None else MemoryReader()
        self.samples: list[OpenSample] = []
        self.steps: list[OpenStep] = []
        self.memory: list[MemoryPoint] = []
        self.caches: list[CacheEvent] = []
        self.moves: list[Move] = []
        self._move_marks: dict[int, tuple[Mark | None, Mark | None]] = {}
        """The marks around the copy of each move, by its index."""
        self.module_calls: dict[int, dict[str, int]] = {}
        """The number of calls of each module in a component's call, by the index of its sample, if observed."""
        self.innermost: OpenSample | None = None
        self.in_component = False
        self._step: OpenStep | None = None
        self._cpu_began = time.process_time_ns()
        self.began = clock()
        self._wall = Interval(0, self.mark())
        self._began_marks = [self._wall.began_mark, *(other.timer.mark() for other in self._distinct_others())]
        self.device_memory: list[DevicePoint] = []
        self.record_memory("start")

    def now(self) -> int:
        """Nanoseconds on the host clock since the start of the call."""
        return self._clock() - self.began

    @property
    def step(self) -> int | None:
        """The index of the current denoising step."""
        return self._step.number if self._step is not None else None

    def slot_of(self, module: Any) -> tuple[str, str] | None:
        """Slot and path of a module of the monitored pipeline; None for other modules."""
        return self._places.get(id(module))

    def begin(self, section: str, component: str | None = None, digest: str | None = None) -> OpenSample:
        """Begin a section, inside the innermost one."""
        sample = OpenSample(self.now(), None, sections.annotation(section))  # Ctrl-C may come before the rest is set
        sample.number, sample.section, sample.component, sample.digest = len(self.samples), section, component, digest
        sample.parent, sample.step, sample.failed = self.innermost, self._step, False
        self.samples.append(sample)
        self.innermost = sample
        if component is not None:
            self.in_component = True
            self.record_memory(f"{section} begins", sample.number)
        sample.began_mark = self.mark(component)
        sample.began = sample.ended = self.now()  # last, so that its time contains none of the above
        return sample

    def end(self, sample: OpenSample, failed: bool) -> None:
        """End the section."""
        sample.ended = self.now()
        sample.ended_mark = self.mark(sample.component)
        sample.failed = failed
        self.innermost = sample.parent
        if sample.component is not None:
            self.in_component = False
            self.record_memory(f"{sample.section} ends", sample.number)
        if sample.annotation is not None:
            sample.annotation.__exit__(None, None, None)

    def begin_step(self) -> None:
        """Begin a denoising step before a denoiser is called, unless one is in progress."""
        if self._step is None:
            number = len(self.steps)
            step = OpenStep(0, None, sections.annotation(f"step {number}"))
            step.number, step.scheduler = number, None
            step.began_mark = self.mark()
            step.began = step.ended = self.now()
            self.steps.append(step)
            self._step = step

    def begin_scheduler(self) -> OpenSample:
        """Begin the section of a scheduler, which belongs to the current or the last denoising step."""
        sample = self.begin("scheduler_step")
        sample.step = self.steps[-1] if self.steps else None
        return sample

    def end_step(self, slot: str) -> None:
        """End the denoising step after its scheduler; one without a denoiser before it extends the last step."""
        step = self.steps[-1] if self.steps else None
        if step is None:
            return
        step.ended = self.now()
        step.ended_mark = self.mark()
        if self._step is not None:
            step.scheduler = slot
            self._step = None
            _end_annotation(step)
            traces.next_step()

    def add_move(self, move: Move, marks: tuple[Mark | None, Mark | None] | None) -> None:
        """Add a move, with the marks around its copy if there are any."""
        if marks is not None and None not in marks:
            self._move_marks[len(self.moves)] = marks
        self.moves.append(move)

    def _timed_moves(self) -> list[Move]:
        return [
            replace(move, device_ns=self._span(MarkedInterval(*self._move_marks[number])).device_ns)
            if number in self._move_marks
            else move
            for number, move in enumerate(self.moves)
        ]

    def add_module_call(self, path: str) -> None:
        """Count a call of a module in the current component."""
        if self.innermost is not None and self.in_component:
            calls = self.module_calls.setdefault(self.innermost.number, {})
            calls[path] = calls.get(path, 0) + 1

    def record_memory(self, label: str, sample: int | None = None) -> None:
        now = self.now()
        self.memory.append(self._memory_reader.point(label, now, sample))
        self.device_memory += self._memory_reader.other_points(label, now, sample)

    def close(self, began_ns: int, entry: str, error: str | None) -> Iteration:
        """Wait for the device after the call, and create the `Iteration`."""
        if self._step is not None:
            _end_annotation(self._step)
        self._wall.ended_mark = self.mark()
        ended_marks = [other.timer.mark() for other in self._distinct_others()]
        for timer in (self._device, *(other.timer for other in self._distinct_others())):
            if timer is not None:
                if timer.is_searching:  # the device may have come into use during the call
                    timer.search()
                timer.synchronize()
        self._wall.ended = self.now()
        cpu_ns = time.process_time_ns() - self._cpu_began
        self.record_memory("end")
        for sample in reversed(self.samples):  # Ctrl-C may have come just before the end was recorded
            if sample.parent is not None:
                sample.parent.ended = max(sample.parent.ended, sample.ended)
        steps = [step for step in self.steps if step.scheduler is not None]
        place = {id(step): number for number, step in enumerate(steps)}
        record = Iteration(
            began_ns=began_ns,
            wall=self._wall_span(ended_marks),
            samples=tuple(self._sample(sample, place.get(id(sample.step))) for sample in self.samples),
            steps=tuple(self._step_spans(steps)),
            memory=tuple(self.memory),
            moves=tuple(_assign_step(move, len(steps)) for move in self._timed_moves()),
            caches=tuple(_assign_step(event, len(steps)) for event in self.caches),
            cpu_ns=cpu_ns,
            entry=entry,
            error=error,
            device_memory=tuple(self.device_memory),
        )
        self._reuse_marks()
        return record

    def _distinct_others(self) -> list[OtherDevice]:
        """The further devices without duplicates, because several components may share one."""
        return list({other.name: other for other in self._others.values()}.values())

    def _wall_span(self, ended_marks: list[Mark | None]) -> Span:
        """The span of the whole call, until the last device finished."""
        span = self._span(self._wall)
        ends = [self._on_device(mark) for mark in ended_marks]
        if span.device_ns is None or None in ends:
            return replace(span, device_start_ns=None, device_ns=None)
        return replace(span, device_ns=max([span.device_ns, *(end for end in ends if end is not None)]))

    def _sample(self, sample: OpenSample, step: int | None) -> Sample:
        other = self._others.get(sample.component) if sample.component is not None else None
        return Sample(
            section=sample.section,
            span=self._span(sample),
            component=sample.component,
            parent=sample.parent.number if sample.parent is not None else None,
            step=step,
            digest=sample.digest,
            failed=sample.failed,
            device=other.name if other is not None else None,
        )

    def _step_spans(self, steps: list[OpenStep]) -> list[StepSpan]:
        counts: dict[str, int] = {}
        spans = []
        for step in steps:
            slot = step.scheduler or ""
            spans.append(StepSpan(slot, counts.get(slot, 0), self._span(step)))
            counts[slot] = counts.get(slot, 0) + 1
        return spans

    def mark(self, component: str | None = None) -> Mark | None:
        """A mark on the device of the component, or on the main device."""
        other = self._others.get(component) if component is not None else None
        timer = self._device if other is None else other.timer
        return timer.mark() if timer is not None else None

    def _span(self, interval: Interval) -> Span:
        began, ended = self._on_device(interval.began_mark), self._on_device(interval.ended_mark)
        host_ns = interval.ended - interval.began
        if began is None or ended is None:
            return Span(interval.began, host_ns)
        return Span(interval.began, host_ns, began, max(ended - began, 0))

    def _on_device(self, mark: Mark | None) -> int | None:
        """Nanoseconds since the start of the iteration on the device, all from one mark, so that spans nest."""
        if mark is None:
            return None
        begin = next((begin for begin in self._began_marks if begin is not None and begin.device == mark.device), None)
        if begin is None:
            return None
        if begin is mark:  # Metal does not time an event against itself
            return 0
        try:
            return max(round(begin.event.elapsed_time(mark.event) * MILLISECOND), 0)
        except RuntimeError:
            return None  # for example an event in a captured graph

    def _reuse_marks(self) -> None:
        timers = [self._device, *(other.timer for other in self._distinct_others())]
        owners = {mark.device: timer for mark, timer in zip(self._began_marks, timers, strict=True) if mark is not None}
        marks = {
            id(mark.event): mark
            for interval in (self._wall, *self.samples, *self.steps)
            for mark in (interval.began_mark, interval.ended_mark)
            if mark is not None
        }
        others = (*self._began_marks, *(mark for pair in self._move_marks.values() for mark in pair))
        marks |= {id(mark.event): mark for mark in others if mark is not None}
        for mark in marks.values():
            timer = owners.get(mark.device)
            if timer is not None:
                timer.reuse(mark)


Event = TypeVar("Event", CacheEvent, Move)


def _assign_step(event: Event, steps: int) -> Event:
    """Remove the step of an event if no scheduler ended that step: then it was not a denoising step."""
    return event if event.step is None or event.step < steps else replace(event, step=None)


def _end_annotation(step: OpenStep) -> None:
    if step.annotation is not None:
        step.annotation.__exit__(None, None, None)
        step.annotation = None


class _Current(threading.local):
    iteration: IterationRecorder | None = None


_CURRENT = _Current()


def current_iteration() -> IterationRecorder | None:
    """The current call of a monitored pipeline on this thread, if any."""
    return _CURRENT.iteration


def set_current_iteration(iteration: IterationRecorder | None) -> IterationRecorder | None:
    """Set the current call of this thread; returns the previous one."""
    before = _CURRENT.iteration
    _CURRENT.iteration = iteration
    return before
