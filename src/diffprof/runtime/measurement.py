"""Measure real calls of a pipeline and count exactly what they executed: the engine of `diffprof.measure`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from diffprof.breakdown.clocks import clock_of
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.profile import compose_profile
from diffprof.errors import DiffprofError
from diffprof.pipelines.arguments import CallArguments, call_arguments
from diffprof.pipelines.opening import OpenedPipeline
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.measured import CountMismatch, Device, DeviceReading, Iteration, Limitation, Measured, SystemPoint
from diffprof.record.profile import Profile
from diffprof.runtime.call_devices import CallDevices, read_devices, read_host
from diffprof.runtime.call_rehearsal import CallRehearsal, arguments_signature
from diffprof.runtime.instrumentation.alignment import align_calls
from diffprof.runtime.instrumentation.cache_memory import peak_cache_bytes
from diffprof.runtime.instrumentation.cache_replay import remove_caches, replay_decisions
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.instrumentation.module_calls import executed_calls
from diffprof.runtime.instrumentation.pipeline_devices import execution_device, further_devices
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall, PipelineMonitor
from diffprof.runtime.instrumentation.system_sampler import SystemSampler
from diffprof.runtime.state_hash import state_hash
from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.sections import Clock

PIPELINE_CALL = "__call__"


class Measurement:
    """Monitors a pipeline from `start` to `stop`; equal calls become iterations of one profile.

    After each call, a dry run with the same arguments counts it, using what only the real run could know: the effects
    of the user's callbacks, and the decisions of caches. A `rehearsal` of the same call replaces that dry run. If
    counting fails, the profile has only measurements, and a note says why; the call itself is never affected.
    """

    def __init__(
        self,
        opened: OpenedPipeline,
        *,
        sample_hz: float = 0,
        rehearsal: CallRehearsal | None = None,
        scheduler: str | None = None,
        enable: Sequence[str] = (),
        recommended: Sequence[str] = (),
        repeated: bool = False,
        step_ended: Callable[[int], None] | None = None,
        clock: Clock = time.perf_counter_ns,
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
    ) -> None:
        self._opened_pipeline: OpenedPipeline | None = opened
        self._preparation = dict(opened.preparation)
        self._rehearsal = rehearsal
        self._stand_ins = dict(rehearsal.stand_ins) if rehearsal is not None else {}
        self._scheduler, self._enable, self._repeated = scheduler, tuple(enable), repeated
        self._recommended = tuple(recommended)
        self._monitor = PipelineMonitor(
            opened.pipeline, self._call_ended, step_ended, clock, device, memory, self._call_lost
        )
        self._sampler = _sampler(opened.pipeline, sample_hz, clock) if sample_hz else None
        self._readings: tuple[DeviceReading, ...] = ()
        self._system: tuple[SystemPoint, ...] = ()
        self._groups: list[_CallGroup] = []
        self._lock = threading.RLock()
        self._host: Device | None = None
        self.warming_up = False
        self.tracing = False
        self.load_seconds: float | None = None
        self.limitations: list[Limitation] = []

    def start(self) -> None:
        assert self._opened_pipeline is not None, "a measurement is started once"
        self._monitor.start()
        if self._sampler is not None:
            self._sampler.start(self._monitor.began)

    def stop(self) -> None:
        self._monitor.stop()
        if self._sampler is not None:
            self._system = self._sampler.stop()
            self._readings = self._sampler.readings
            if self._sampler.problem:
                self.limitations.append(Limitation("no_samples", self._sampler.problem))
            self._sampler = None
        with self._lock:
            self._read_host()
            # A run that is kept must not keep the pipeline's memory alive.
            self._opened_pipeline = self._rehearsal = None
            self._monitor.forget()

    @property
    def _current_pipeline(self) -> OpenedPipeline:
        assert self._opened_pipeline is not None, "calls are evaluated before the measurement ends"
        return self._opened_pipeline

    @property
    def completed_calls(self) -> int:
        """The number of calls that ended without an error."""
        return sum(iteration.error is None for group in self._groups for iteration in group.iterations)

    @property
    def timed_walls_ns(self) -> list[int]:
        """The times of the timed calls so far; device times if there are any."""
        timed = [one for group in self._groups for one in group.iterations if not one.warmup and one.error is None]
        clock = clock_of(timed)
        return [clock.length_ns(one.wall) for one in timed]

    def profiles(self) -> tuple[Profile, ...]:
        """One profile for each different call, in the order of their first iterations."""
        self._read_host()
        return tuple(self._profile(group) for group in self._groups)

    def _read_host(self) -> None:
        """Measure the peak of the CPU once, after the calls, if one of them ran on it."""
        is_used = any(group.devices.main is None for group in self._groups)
        if self._host is None and is_used and self._opened_pipeline is not None:
            self._host = read_host(self._current_pipeline.pipeline, self.limitations)

    def _profile(self, group: _CallGroup) -> Profile:
        device = group.devices.main or self._host
        assert device is not None, "profiles() has read it"
        measured = Measured(
            device=device,
            iterations=tuple(group.iterations),
            system=tuple(point for point in self._system if group.covers(point.at_ns)),
            load_seconds=self.load_seconds,
            repeated=self._repeated,
            nominal_macs=group.nominal_macs,
            cached_bytes=group.cached_bytes,
            mismatches=tuple(dict.fromkeys(group.mismatches)),
            limitations=tuple(dict.fromkeys((*self.limitations, *group.limitations))),
            other_devices=group.devices.others,
            readings=tuple(one for one in self._readings if group.covers(one.at_ns)),
            preparation=self._preparation,
        )
        return replace(group.profile, measured=measured)

    def _call_ended(self, call: MonitoredCall) -> None:
        iteration = replace(call.iteration, warmup=self.warming_up, traced=self.tracing)
        with self._lock:  # calls may end on several threads at once, and equal ones are counted once
            if self._opened_pipeline is None:
                self.limitations.append(Limitation("late_call"))
                return
            self._evaluate(call, iteration)

    def _call_lost(self, problem: Exception) -> None:
        self.limitations.append(Limitation("not_evaluated", f"{type(problem).__name__}: {problem}"))

    def _evaluate(self, call: MonitoredCall, iteration: Iteration) -> None:
        devices = CallDevices()
        try:
            devices = read_devices(self._current_pipeline.pipeline, iteration)
            self.limitations += (*devices.limitations, *self._monitor.limitations())
            group = self._group_of(call, iteration, devices)
            if _is_whole_call(iteration) and group.is_counted:
                iteration, mismatch = align_calls(iteration, group.profile.calls)
                group.mismatches += [mismatch] if mismatch else []
            group.iterations.append(iteration)
            for cache, held_bytes in peak_cache_bytes(self._current_pipeline.pipeline).items():
                group.cached_bytes[cache] = max(held_bytes, group.cached_bytes.get(cache, 0))
        except Exception as error:  # noqa: BLE001  an error here must not cost the generated image
            self.limitations.append(Limitation("not_evaluated", f"{type(error).__name__}: {error}"))
            self._keep_uncounted(call, iteration, devices)
        except BaseException:  # Ctrl-C during the count, which takes seconds: keep the measurement
            uncounted = self._uncounted_group(call, Limitation("count_interrupted"))
            self._groups.append(replace(uncounted, iterations=[iteration], devices=devices))
            raise

    def _keep_uncounted(self, call: MonitoredCall, iteration: Iteration, devices: CallDevices) -> None:
        """Keep the measurement of a call that could not be evaluated, unless it is already kept."""
        if any(one.began_ns == iteration.began_ns for group in self._groups for one in group.iterations):
            return
        plain = replace(iteration, samples=tuple(replace(sample, call=None) for sample in iteration.samples))
        with contextlib.suppress(Exception):  # the limitation is reported in any case
            uncounted = self._uncounted_group(call, self.limitations[-1])
            self._groups.append(replace(uncounted, iterations=[plain], devices=devices))

    def _group_of(self, call: MonitoredCall, iteration: Iteration, devices: CallDevices) -> _CallGroup:
        if not _is_whole_call(iteration) and self._groups:
            return self._groups[-1]
        state = state_hash(self._current_pipeline.pipeline)
        request = (arguments_signature(call.arguments), state)
        execution = (
            call.callbacks.signature,
            tuple((event.module, event.hit) for event in call.iteration.caches),
            tuple(tuple(observed.module_calls.items()) for observed in call.observed),
            tuple(sample.section for sample in call.iteration.samples if sample.component is not None),
        )
        # A failed call has no complete behaviour to compare.
        failed = call.iteration.error is not None
        same = [
            group
            for group in self._groups
            if group.request == request and (failed or (group.execution, group.devices) == (execution, devices))
        ]
        if same:
            return same[-1]
        group = self._count(call, state)
        group.request, group.execution, group.devices = request, None if failed else execution, devices
        self._groups.append(group)
        return group

    def _count(self, call: MonitoredCall, state: int) -> _CallGroup:
        if call.iteration.entry != PIPELINE_CALL:
            return self._uncounted_group(call, Limitation("component_alone", call.iteration.entry))
        given = self._given_arguments(call)
        try:
            arguments = call_arguments(self._current_pipeline.pipeline, given, {})
            with quiet_libraries():
                result = self._executed_work(call, state)
                nominal_macs = self._nominal_macs(call, state)
        except DiffprofError as error:
            return self._uncounted_group(call, Limitation("not_counted", str(error)))
        used = {name: value for name, value in self._stand_ins.items() if name in call.arguments}
        arguments = replace(arguments, given=given)
        changes = self._scheduler, self._enable, self._recommended
        profile = compose_profile(self._current_pipeline, arguments, used, result, *changes)
        return _CallGroup(profile, nominal_macs=nominal_macs)

    def _uncounted_group(self, call: MonitoredCall, reason: Limitation) -> _CallGroup:
        nothing = DryRunResult((), (), OperationRecorder().outside.cost(peak_live_bytes=0), (), {})
        arguments = CallArguments(self._given_arguments(call), {}, (), {})
        return _CallGroup(
            compose_profile(self._current_pipeline, arguments, {}, nothing), is_counted=False, limitations=[reason]
        )

    def _given_arguments(self, call: MonitoredCall) -> dict[str, Any]:
        return {name: value for name, value in call.arguments.items() if name not in self._stand_ins}

    def _executed_work(self, call: MonitoredCall, state: int) -> DryRunResult:
        """Count what the call executed, with the effects of its callbacks and the decisions of its caches."""
        result = self._rehearsal.count(call, state) if self._rehearsal is not None else None
        if result is None:
            result = self._dry_run(call)
        if not call.observed or call.iteration.error is not None:  # a failed call executed less than the count
            return result
        return executed_calls(result, call.observed, lambda: self._dry_run(call, large_values=True))

    def _dry_run(self, call: MonitoredCall, large_values: bool = False) -> DryRunResult:
        pipeline = self._current_pipeline.pipeline
        return dry_run(
            pipeline,
            call.callbacks.replay(call.arguments),
            lambda: _restore_attributes(pipeline, call.attributes),
            changes=replay_decisions(call.iteration.caches),
            large_values=large_values,
        )

    def _nominal_macs(self, call: MonitoredCall, state: int) -> dict[str, int]:
        """The MACs that each component with a cache would have without it."""
        slots = {event.component for event in call.iteration.caches if event.component is not None}
        if not slots:
            return {}
        result = self._rehearsal.count_without_caches(call, state) if self._rehearsal is not None else None
        if result is None:
            pipeline = self._current_pipeline.pipeline

            def prepare() -> None:
                _restore_attributes(pipeline, call.attributes)
                remove_caches(pipeline)

            result = dry_run(pipeline, call.callbacks.replay(call.arguments), prepare)
        calls = result.calls
        return {slot: sum(one.macs for one in calls if one.component == slot) for slot in sorted(slots)}


def _sampler(pipeline: Any, sample_hz: float, clock: Clock) -> SystemSampler:
    place = execution_device(pipeline)
    others = dict.fromkeys(further_devices(pipeline, place).values())
    return SystemSampler(hz=sample_hz, clock=clock, place=place, others=tuple(others))


@dataclass
class _CallGroup:
    """Calls with the same cost: the profile of one of them, and the measurements of all."""

    profile: Profile
    is_counted: bool = True
    request: Any = None
    """A key of the arguments and the state of the pipeline."""
    execution: Any = None
    """A key of the effects of callbacks and caches, and of the calls; None if the call failed."""
    devices: CallDevices = field(default_factory=CallDevices)
    iterations: list[Iteration] = field(default_factory=list)
    nominal_macs: dict[str, int] = field(default_factory=dict)
    cached_bytes: dict[str, int] = field(default_factory=dict)
    mismatches: list[CountMismatch] = field(default_factory=list)
    limitations: list[Limitation] = field(default_factory=list)

    def covers(self, at_ns: int) -> bool:
        """Whether one of the calls was running at this time."""
        return any(
            iteration.began_ns <= at_ns <= iteration.began_ns + iteration.wall.host_ns for iteration in self.iterations
        )


def _is_whole_call(iteration: Iteration) -> bool:
    """Whether the iteration is a complete pipeline call; traced calls have fewer steps, and component calls are not."""
    return iteration.entry == PIPELINE_CALL and not iteration.traced


def _restore_attributes(pipeline: Any, attributes: Mapping[str, Any]) -> None:
    """Set the attributes that the pipeline had when it was called; the dry run restores the current ones."""
    vars(pipeline).clear()
    vars(pipeline).update(attributes)
