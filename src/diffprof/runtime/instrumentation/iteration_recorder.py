"""One call of a watched pipeline while it is under way: samples, steps and memory, as raw as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from diffprof.record.measured import CacheEvent, Iteration, MemoryPoint, Move, Sample, Span, StepSpan
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.timing import sections
from diffprof.runtime.timing import trace_recorder as traces
from diffprof.runtime.timing.devices import MILLISECOND, DeviceTimer, Mark
from diffprof.runtime.timing.sections import Clock


class Stretch:
    """Something that began and, later, ended: a moment on the host and a mark on the device at both ends."""

    __slots__ = ("annotation", "began", "began_mark", "ended", "ended_mark")

    def __init__(self, began: int, mark: Mark | None, annotation: Any = None) -> None:
        self.began, self.began_mark = began, mark
        self.ended, self.ended_mark = began, mark
        self.annotation = annotation


class OpenSample(Stretch):
    """A section that is running or has run."""

    __slots__ = ("component", "digest", "failed", "number", "parent", "section", "step")

    number: int
    section: str
    component: str | None
    parent: OpenSample | None
    step: OpenStep | None
    digest: str | None
    failed: bool


class OpenStep(Stretch):
    """A denoising step; without a scheduler as long as none has ended it."""

    __slots__ = ("number", "scheduler")

    number: int
    scheduler: str | None


class IterationRecorder:
    """Collects what happens in one call of a pipeline, on the thread that makes it."""

    def __init__(
        self,
        owner: object,
        clock: Clock,
        places: Mapping[int, tuple[str, str]],
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
    ) -> None:
        self.owner = owner
        """Who watches the pipeline."""
        self._clock = clock
        self._places = places
        self._device = device
        self._memory_reader = memory if memory is not None else MemoryReader()
        self.samples: list[OpenSample] = []
        self.steps: list[OpenStep] = []
        self.memory: list[MemoryPoint] = []
        self.caches: list[CacheEvent] = []
        self.moves: list[Move] = []
        self.innermost: OpenSample | None = None
        self.in_component = False
        self._step: OpenStep | None = None
        self._cpu_began = time.process_time_ns()
        self.began = clock()
        self._wall = Stretch(0, self._mark())
        self.remember_memory("start")

    def now(self) -> int:
        """Nanoseconds on the host since it began."""
        return self._clock() - self.began

    @property
    def step(self) -> int | None:
        """The running number of the denoising step that is under way."""
        return self._step.number if self._step is not None else None

    def slot_of(self, module: Any) -> tuple[str, str] | None:
        """Slot and path of a module of the watched pipeline; None for any other."""
        return self._places.get(id(module))

    def begin(self, section: str, component: str | None = None, digest: str | None = None) -> OpenSample:
        """A section begins, inside of the one that runs already."""
        sample = OpenSample(self.now(), None, sections.annotation(section))  # Ctrl-C may come before the rest
        sample.number, sample.section, sample.component, sample.digest = len(self.samples), section, component, digest
        sample.parent, sample.step, sample.failed = self.innermost, self._step, False
        self.samples.append(sample)
        self.innermost = sample
        if component is not None:
            self.in_component = True
            self.remember_memory(f"{section} begins", sample.number)
        sample.began_mark = self._mark()
        sample.began = sample.ended = self.now()  # last, so that nothing of this is in its time
        return sample

    def end(self, sample: OpenSample, failed: bool) -> None:
        """The section has ended."""
        sample.ended = self.now()
        sample.ended_mark = self._mark()
        sample.failed = failed
        self.innermost = sample.parent
        if sample.component is not None:
            self.in_component = False
            self.remember_memory(f"{sample.section} ends", sample.number)
        if sample.annotation is not None:
            sample.annotation.__exit__(None, None, None)

    def denoising(self) -> None:
        """A denoiser is about to be called: a step begins, unless it has begun already."""
        if self._step is None:
            number = len(self.steps)
            step = OpenStep(0, None, sections.annotation(f"step {number}"))
            step.number, step.scheduler = number, None
            step.began_mark = self._mark()
            step.began = step.ended = self.now()
            self.steps.append(step)
            self._step = step

    def scheduler_begins(self) -> OpenSample:
        """A scheduler makes its step, which belongs to the denoising step that is under way or was just ended."""
        sample = self.begin("scheduler_step")
        sample.step = self.steps[-1] if self.steps else None
        return sample

    def scheduler_ended(self, slot: str) -> None:
        """A scheduler has made its step. One that no denoiser was called for lengthens the step before."""
        step = self.steps[-1] if self.steps else None
        if step is None:
            return
        step.ended = self.now()
        step.ended_mark = self._mark()
        if self._step is not None:
            step.scheduler = slot
            self._step = None
            _leave(step)
            traces.next_step()

    def remember_memory(self, label: str, sample: int | None = None) -> None:
        self.memory.append(self._memory_reader.point(label, self.now(), sample))

    def close(self, began_ns: int, entry: str, error: str | None) -> Iteration:
        """The call is over: wait for the device, and make a record of it all."""
        if self._step is not None:
            _leave(self._step)
        self._wall.ended_mark = self._mark()
        if self._device is not None:
            self._device.synchronize()
        self._wall.ended = self.now()
        cpu_ns = time.process_time_ns() - self._cpu_began
        self.remember_memory("end")
        for sample in reversed(self.samples):  # an interrupt may have come just when the end was to be written down
            if sample.parent is not None:
                sample.parent.ended = max(sample.parent.ended, sample.ended)
        steps = [step for step in self.steps if step.scheduler is not None]
        place = {id(step): number for number, step in enumerate(steps)}
        record = Iteration(
            began_ns=began_ns,
            wall=self._span(self._wall),
            samples=tuple(self._sample(sample, place.get(id(sample.step))) for sample in self.samples),
            steps=tuple(self._numbered(steps)),
            memory=tuple(self.memory),
            moves=tuple(_in_steps(move, len(steps)) for move in self.moves),
            caches=tuple(_in_steps(event, len(steps)) for event in self.caches),
            cpu_ns=cpu_ns,
            entry=entry,
            error=error,
        )
        self._give_marks_back()
        return record

    def _sample(self, sample: OpenSample, step: int | None) -> Sample:
        return Sample(
            section=sample.section,
            span=self._span(sample),
            component=sample.component,
            parent=sample.parent.number if sample.parent is not None else None,
            step=step,
            digest=sample.digest,
            failed=sample.failed,
        )

    def _numbered(self, steps: list[OpenStep]) -> list[StepSpan]:
        made: dict[str, int] = {}
        numbered = []
        for step in steps:
            slot = step.scheduler or ""
            numbered.append(StepSpan(slot, made.get(slot, 0), self._span(step)))
            made[slot] = made.get(slot, 0) + 1
        return numbered

    def _mark(self) -> Mark | None:
        return self._device.mark() if self._device is not None else None

    def _span(self, stretch: Stretch) -> Span:
        began, ended = self._on_device(stretch.began_mark), self._on_device(stretch.ended_mark)
        host_ns = stretch.ended - stretch.began
        if began is None or ended is None:
            return Span(stretch.began, host_ns)
        return Span(stretch.began, host_ns, began, max(ended - began, 0))

    def _on_device(self, mark: Mark | None) -> int | None:
        """Nanoseconds on the device since the iteration began there; all from one mark, so that spans nest."""
        begin = self._wall.began_mark
        if mark is None or begin is None or mark.device != begin.device:
            return None
        try:
            return max(round(begin.event.elapsed_time(mark.event) * MILLISECOND), 0)
        except RuntimeError:
            return None  # such as an event of a captured graph

    def _give_marks_back(self) -> None:
        if self._device is not None:
            marks = {
                id(mark.event): mark
                for stretch in (self._wall, *self.samples, *self.steps)
                for mark in (stretch.began_mark, stretch.ended_mark)
                if mark is not None
            }
            self._device.give_back(*marks.values())


Event = TypeVar("Event", CacheEvent, Move)


def _in_steps(event: Event, steps: int) -> Event:
    """A step that no scheduler ended is none, and what happened in it belongs to none."""
    return event if event.step is None or event.step < steps else replace(event, step=None)


def _leave(step: OpenStep) -> None:
    if step.annotation is not None:
        step.annotation.__exit__(None, None, None)
        step.annotation = None


class _Current(threading.local):
    iteration: IterationRecorder | None = None


_CURRENT = _Current()


def current_iteration() -> IterationRecorder | None:
    """The call of a watched pipeline that this thread is in, if it is in one."""
    return _CURRENT.iteration


def set_current_iteration(iteration: IterationRecorder | None) -> IterationRecorder | None:
    """Let this be the call that this thread is in; gives the one that it was in before."""
    before = _CURRENT.iteration
    _CURRENT.iteration = iteration
    return before
