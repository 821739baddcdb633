"""Measures real calls of a pipeline and counts exactly what ran in them: the engine of `diffprof.measure`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from diffprof.counting.boundary import signature
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.counting.operations.recorder import OperationRecorder as CountRecorder
from diffprof.counting.profile import compose_profile
from diffprof.errors import DiffprofError
from diffprof.pipelines.arguments import CallArguments, call_arguments
from diffprof.pipelines.components import components_of, parts_of, unwrap_compiled
from diffprof.pipelines.opening import OpenedPipeline
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.measured import Device, Iteration, Measured, SystemPoint
from diffprof.record.profile import Profile
from diffprof.runtime.device import device_of
from diffprof.runtime.instrumentation.alignment import aligned
from diffprof.runtime.instrumentation.cache_events import memory_held, replayed_decisions, without_caches
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall, PipelineMonitor, execution_device
from diffprof.runtime.instrumentation.system_sampler import SystemSampler
from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.sections import Clock

PLAIN = frozenset({bool, int, float, str, type(None)})


class Measurement:
    """One measurement: watches a pipeline from `start` to `stop`; equal calls of it become iterations of one profile.

    A call is counted when it has ended, by a dry run with the same arguments and with what only the real run could
    know: what the user's callbacks changed and what the caches decided. Where that fails, the measured part stands
    alone and a note says why; the call itself is never disturbed.
    """

    def __init__(
        self,
        opened: OpenedPipeline,
        *,
        sample_hz: float = 0,
        stand_ins: Mapping[str, Any] | None = None,
        scheduler: str | None = None,
        enable: Sequence[str] = (),
        repeated: bool = False,
        step_ended: Callable[[int], None] | None = None,
        clock: Clock = time.perf_counter_ns,
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
    ) -> None:
        self._opened = opened
        self._stand_ins = dict(stand_ins or {})
        self._scheduler, self._enable, self._repeated = scheduler, tuple(enable), repeated
        self._watch = PipelineMonitor(opened.pipeline, self._ended, step_ended, clock, device, memory)
        place = execution_device(opened.pipeline)
        self._sampler = SystemSampler(hz=sample_hz, clock=clock, place=place) if sample_hz else None
        self._system: tuple[SystemPoint, ...] = ()
        self._kinds: list[_Kind] = []
        self._lock = threading.RLock()
        self._device: Device | None = None
        self.warming_up = False
        self.tracing = False
        self.load_seconds: float | None = None
        self.notes: list[str] = []

    def start(self) -> None:
        self._watch.start()
        if self._sampler is not None:
            self._sampler.start(self._watch.began)

    def stop(self) -> None:
        self._watch.stop()
        if self._sampler is not None:
            self._system = self._sampler.stop()
            if self._sampler.problem:
                self.notes.append(self._sampler.problem)
            self._sampler = None

    def profiles(self) -> tuple[Profile, ...]:
        """One for each different call that was made, in the order of their first iterations."""
        if self._device is None and self._kinds:
            self._device = device_of(self._opened.pipeline)
        return tuple(self._profile(kind) for kind in self._kinds)

    def _profile(self, kind: _Kind) -> Profile:
        assert self._device is not None, "it was looked at before"
        measured = Measured(
            device=self._device,
            iterations=tuple(kind.iterations),
            system=tuple(point for point in self._system if kind.covers(point.at_ns)),
            load_seconds=self.load_seconds,
            repeated=self._repeated,
            nominal_macs=kind.nominal_macs,
            cached_bytes=kind.cached_bytes,
            notes=tuple(dict.fromkeys((*self.notes, *kind.notes))),
        )
        return replace(kind.counted, measured=measured)

    def _ended(self, call: MonitoredCall) -> None:
        iteration = replace(call.iteration, warmup=self.warming_up, traced=self.tracing)
        with self._lock:  # calls may end on several threads at once, and equal ones are counted once
            self._evaluate(call, iteration)

    def _evaluate(self, call: MonitoredCall, iteration: Iteration) -> None:
        try:
            kind = self._kind(call)
            if self._of_one_kind(iteration) and kind.known:
                iteration, difference = aligned(iteration, kind.counted.calls)
                kind.notes += [difference] if difference else []
            kind.iterations.append(iteration)
            for cache, held in memory_held(self._opened.pipeline).items():
                kind.cached_bytes[cache] = max(held, kind.cached_bytes.get(cache, 0))
        except Exception as error:  # noqa: BLE001  a picture that was made is handed over, whatever fails here
            self.notes.append(f"a call could not be evaluated ({type(error).__name__}: {error})")
        except BaseException:  # Ctrl-C while it was counted, which takes seconds: what was measured is kept
            uncounted = self._uncounted(call, "what ran was not counted: the count was interrupted")
            self._kinds.append(replace(uncounted, iterations=[iteration]))
            raise

    def _of_one_kind(self, iteration: Iteration) -> bool:
        """A trace is made of fewer steps than were counted, and what is no call of the pipeline was not counted."""
        return iteration.entry == "__call__" and not iteration.traced

    def _kind(self, call: MonitoredCall) -> _Kind:
        if not self._of_one_kind(replace(call.iteration, traced=self.tracing)) and self._kinds:
            return self._kinds[-1]
        asked = (signature(call.arguments), self._state())
        happened = (
            call.callbacks.signature,
            tuple((event.module, event.hit) for event in call.iteration.caches),
            tuple(sample.section for sample in call.iteration.samples if sample.component is not None),
        )
        # How far a call came that failed says nothing about what was asked for.
        failed = call.iteration.error is not None
        found = [kind for kind in self._kinds if kind.asked == asked and (failed or kind.happened == happened)]
        if not found:
            found = [self._counted(call)]
            found[0].asked, found[0].happened = asked, None if failed else happened
            self._kinds += found
        return found[-1]

    def _counted(self, call: MonitoredCall) -> _Kind:
        pipeline = self._opened.pipeline
        given = self._given(call)
        if call.iteration.entry != "__call__":
            note = f"{call.iteration.entry} was called by itself, not by the pipeline, and was not counted"
            return self._uncounted(call, note)
        arguments = call.callbacks.played_back(call.arguments)
        try:
            asked = call_arguments(pipeline, given, {})
            with quiet_libraries():
                decisions = replayed_decisions(call.iteration.caches)
                result = dry_run(pipeline, arguments, lambda: _as_it_was(pipeline, call), changes=decisions)
                nominal = self._nominal(call, arguments)
        except DiffprofError as error:
            return self._uncounted(call, f"what ran was not counted: {error}")
        used = {name: value for name, value in self._stand_ins.items() if name in call.arguments}
        counted = compose_profile(
            self._opened, replace(asked, given=given), used, result, self._scheduler, self._enable
        )
        return _Kind(counted, nominal_macs=nominal)

    def _uncounted(self, call: MonitoredCall, note: str) -> _Kind:
        nothing = DryRunResult((), (), CountRecorder().outside.cost(peak_live_bytes=0), (), {})
        asked = CallArguments(self._given(call), {}, {}, {})
        return _Kind(compose_profile(self._opened, asked, {}, nothing), False, notes=[note])

    def _given(self, call: MonitoredCall) -> dict[str, Any]:
        return {name: value for name, value in call.arguments.items() if name not in self._stand_ins}

    def _nominal(self, call: MonitoredCall, arguments: Mapping[str, Any]) -> dict[str, int]:
        """What each component with a cache would have done without it."""
        slots = {event.component for event in call.iteration.caches if event.component is not None}
        if not slots:
            return {}
        pipeline = self._opened.pipeline

        def prepare() -> None:
            _as_it_was(pipeline, call)
            without_caches(pipeline)

        result = dry_run(pipeline, dict(arguments), prepare)
        return {slot: sum(one.macs for one in result.calls if one.component == slot) for slot in sorted(slots)}

    def _state(self) -> int:
        """Changes when something was switched, loaded or put in place of another since the last call."""
        inside = tuple(value for part in self._roots() for value in _switches(unwrap_compiled(part)))
        dtypes = tuple(next((weight.dtype for weight in part.parameters()), None) for part in self._roots())
        return hash((inside, dtypes, tuple(map(_identity, parts_of(self._opened.pipeline).values()))))

    def _roots(self) -> list[Any]:
        return list(components_of(self._opened.pipeline).values())


def _identity(part: Any) -> Any:
    """Which part of a pipeline it is: the very module, but any scheduler that is set up alike, as some are copied."""
    return id(part) if isinstance(part, torch.nn.Module) else (type(part), repr(getattr(part, "config", None)))


def _switches(component: torch.nn.Module) -> list[Any]:
    """Which modules it has, and what their code may look at in order to choose what to do.

    It is asked after every call, of thousands of modules: what is written out here instead of called is so for speed.
    """
    found: list[Any] = []
    modules, seen = [component], set()
    while modules:
        module = modules.pop()
        own = module.__dict__
        inner = [part for part in own["_modules"].values() if part is not None and id(part) not in seen]
        numbers = list(map(id, inner))
        seen.update(numbers)
        modules += inner
        found += numbers
        found += [value for value in own.values() if type(value) in PLAIN]
        if "processor" in own:  # not which object it is: some pipelines put new ones there in every call
            processor = own["processor"]
            found += [type(processor), *(value for value in vars(processor).values() if type(value) in PLAIN)]
        if "merged_adapters" in own:  # a layer of peft: which of its adapters compute, and which are in the weights
            found += [str(own.get("_active_adapter")), str(own["merged_adapters"])]
    return found


def _as_it_was(pipeline: Any, call: MonitoredCall) -> None:
    """Give the pipeline the attributes that it had when it was called; the dry run puts back those that it has now."""
    vars(pipeline).clear()
    vars(pipeline).update(call.before)


@dataclass
class _Kind:
    """Calls that cost the same: what one of them was counted to cost, and each of them as it was measured."""

    counted: Profile
    known: bool = True
    """False: it could not be counted."""
    asked: Any = None
    """Arguments, and the state of the pipeline."""
    happened: Any = None
    """What callbacks and caches did, and what was called. None: the call did not come to its end."""
    iterations: list[Iteration] = field(default_factory=list)
    nominal_macs: dict[str, int] = field(default_factory=dict)
    cached_bytes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def covers(self, at_ns: int) -> bool:
        """Was one of them running at this moment?"""
        return any(one.began_ns <= at_ns <= one.began_ns + one.wall.host_ns for one in self.iterations)
