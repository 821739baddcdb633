"""Monitor a pipeline: time its calls, and those of its components, its scheduler and its methods.

The pipeline itself is not changed. Functions of its classes are intercepted, and only calls that belong to this
pipeline are recorded; all others are passed through.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diffprof.counting.isolation import is_dry_running
from diffprof.errors import RequestError, error_summary
from diffprof.pipelines.components import (
    DENOISING_ROLES,
    SchedulerSlots,
    components_of,
    entry_methods,
    is_compiled,
    named_modules_of,
    parts_of,
    replaced_methods,
    role_of,
    schedulers_of,
    trunks_of,
    unwrap_compiled,
)
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.record.measured import Iteration, Limitation
from diffprof.runtime.instrumentation.cache_events import record_cache_events
from diffprof.runtime.instrumentation.callbacks import Callbacks
from diffprof.runtime.instrumentation.interception import Handler, intercept, intercept_own
from diffprof.runtime.instrumentation.iteration_recorder import (
    IterationRecorder,
    current_iteration,
    set_current_iteration,
)
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.instrumentation.module_calls import ModuleCalls, ObservedCall
from diffprof.runtime.instrumentation.pipeline_devices import DeviceWatch
from diffprof.runtime.instrumentation.weight_moves import record_moves
from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.sections import Clock

PIPELINE_METHODS = (
    "encode_prompt", "_encode_prompt", "encode_image", "prepare_latents", "prepare_image_latents",
    "prepare_mask_latents", "prepare_ip_adapter_image_embeds", "prepare_image", "prepare_control_image",
    "decode_latents", "run_safety_checker",
)  # fmt: skip
"""Methods of pipelines that get their own sections."""

ENTRIES = ("forward", "encode", "decode", "generate")
"""Methods of components that are recorded outside of the pipeline's call; others may only change settings."""

PROCESSOR_METHODS = ("preprocess", "postprocess", "preprocess_video", "postprocess_video")
PROMPT_METHODS = ("encode_prompt", "_encode_prompt")

_MONITORED: set[int] = set()
_LOCK = threading.Lock()


@dataclass(frozen=True)
class MonitoredCall:
    """A monitored call: its arguments, and its recording."""

    arguments: Mapping[str, Any]
    attributes: Mapping[str, Any]
    """Attributes of the pipeline when it was called, because some pipelines cache encodings."""
    callbacks: Callbacks
    iteration: Iteration
    observed: tuple[ObservedCall, ...] = ()
    """Calls of components that run code of an unknown library."""


class PipelineMonitor:
    """Monitors one pipeline from `start` to `stop`; calls `call_ended` and `step_ended` after every call and step."""

    def __init__(
        self,
        pipeline: Any,
        call_ended: Callable[[MonitoredCall], None],
        step_ended: Callable[[int], None] | None = None,
        clock: Clock = time.perf_counter_ns,
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
        call_lost: Callable[[Exception], None] | None = None,
    ) -> None:
        """`call_lost` is called with the error if a call could not be recorded; the call itself is still made."""
        self.pipeline = pipeline
        self.began = clock()
        self._call_ended = call_ended
        self._call_lost = call_lost
        self._step_ended = step_ended
        self._clock = clock
        self._devices = DeviceWatch(pipeline, device, memory)
        self._find_parts()
        self._undo: list[Callable[[], None]] = []

    def _find_parts(self) -> None:
        """Find the current components, schedulers and processors of the pipeline."""
        self._parts = parts_of(self.pipeline)
        self._components = components_of(self.pipeline)
        # `torch.compile(vae)` compiles `forward` only: `decode` is a method of the module inside the wrapper.
        self._slots = {
            id(root): slot
            for slot, part in reversed(self._components.items())
            for root in (*trunks_of(slot, part), part, unwrap_compiled(part))
        }
        self._places = {
            id(module): (slot, path)
            for slot, part in reversed(self._components.items())
            for path, module in named_modules_of(part)
        }
        self._denoisers = {slot for slot, part in self._components.items() if role_of(slot, part) in DENOISING_ROLES}

    def start(self) -> None:
        """Start monitoring; an error if the pipeline is already being monitored."""
        with _LOCK:
            if id(self.pipeline) in _MONITORED:
                raise RequestError(
                    "this pipeline is being measured already; use the run that the outer measuring() gave, or end it"
                )
            _MONITORED.add(id(self.pipeline))
        try:
            self._intercept()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Restore every function that was intercepted."""
        self._restore()
        with _LOCK:
            _MONITORED.discard(id(self.pipeline))

    def forget(self) -> None:
        """Release the pipeline after the last call was recorded."""
        self.pipeline = None
        self._parts, self._components, self._slots, self._places = {}, {}, {}, {}
        self._devices.forget()
        self._module_calls = ModuleCalls({})

    def limitations(self) -> tuple[Limitation, ...]:
        """What could not be read in the last call."""
        problem = self._devices.memory_problem
        return () if problem is None else (Limitation("no_device_memory", problem),)

    def _restore(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _follow_changes(self) -> None:
        """Start monitoring components and schedulers that were replaced since the last call."""
        if self._has_same_parts():
            return
        with DRY_RUN_LOCK:  # a dry run replaces the schedulers while it lasts
            if not self._has_same_parts():
                self._restore()
                self._find_parts()
                self._intercept()

    def _has_same_parts(self) -> bool:
        now = parts_of(self.pipeline)
        return now.keys() == self._parts.keys() and all(now[slot] is part for slot, part in self._parts.items())

    def _intercept(self) -> None:
        self._module_calls = ModuleCalls(self._components)
        self._undo += [
            record_cache_events(), record_moves(self._components.values()), self._module_calls.record(),
        ]  # fmt: skip
        for owner, name, handler in self._intercepted_functions():
            self._undo.append(intercept(owner, name, handler))
        for part in self._components.values():
            for name in replaced_methods(part):
                self._undo.append(intercept_own(unwrap_compiled(part), name, self._entry_handler(name)))

    def _intercepted_functions(self) -> Iterator[tuple[type, str, Handler]]:
        """Every function to intercept, with its handler."""
        yield type(self.pipeline), "__call__", self._handle_call
        yield from self._pipeline_functions()
        yield from self._component_functions()
        slots = SchedulerSlots(schedulers_of(self.pipeline))
        handler = self._scheduler_handler(slots)
        for owner in slots.classes:
            yield owner, "step", handler
        for owner, name in self._processor_functions():
            yield owner, name, self._section_handler(name.removesuffix("_video"), _any_subject)

    def _pipeline_functions(self) -> Iterator[tuple[type, str, Handler]]:
        """Methods of the pipeline, and of the pipelines inside it."""
        attributes = dict(vars(self.pipeline))
        inner = {id(part): name for name, part in attributes.items() if hasattr(part, "register_modules")}
        parts = [part for part in attributes.values() if id(part) in inner]
        own = frozenset({id(self.pipeline), *inner})
        for owner in dict.fromkeys(type(part) for part in (self.pipeline, *parts)):
            for name in PIPELINE_METHODS:
                if hasattr(owner, name):
                    yield owner, name, self._section_handler(name.removeprefix("_"), own.__contains__)
        for part in parts:
            ids = frozenset({id(part)})
            yield type(part), "__call__", self._section_handler(inner[id(part)], ids.__contains__)

    def _component_functions(self) -> Iterator[tuple[type, str, Handler]]:
        trunks = [trunk for slot, part in self._components.items() for trunk in trunks_of(slot, part)]
        for owner in dict.fromkeys(type(part) for part in (*self._components.values(), *trunks)):
            yield owner, "__call__", self._entry_handler("forward")
        # Compiled code that calls a method would be compiled again if that method is replaced, so only methods that
        # it does not call itself are intercepted.
        methods: dict[tuple[type, str], None] = {}
        for part in self._components.values():
            compiled = is_compiled(part)
            methods |= {entry: None for entry in entry_methods(part) if entry[1] in ENTRIES or not compiled}
        for owner, name in methods:
            yield owner, name, self._entry_handler(name)

    def _processor_functions(self) -> Iterator[tuple[type, str]]:
        found = dict.fromkeys(type(part) for part in list(vars(self.pipeline).values()) if hasattr(part, "postprocess"))
        for owner in found:
            for name in PROCESSOR_METHODS:
                if inspect.isfunction(getattr(owner, name, None)):
                    yield owner, name

    def _own_iteration(self) -> IterationRecorder | None:
        """The current call of this pipeline on this thread, if any."""
        iteration = current_iteration()
        return iteration if iteration is not None and iteration.owner is self else None

    def _handle_call(self, original: Callable[..., Any], pipeline: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        if pipeline is not self.pipeline or self._own_iteration() is not None or is_dry_running():
            return original(pipeline, *args, **kwargs)
        self._follow_changes()
        bound = inspect.signature(type(pipeline).__call__).bind(pipeline, *args, **kwargs)
        arguments = _arguments_by_name(bound)
        callbacks = Callbacks(pipeline, self._section)
        kwargs = callbacks.wrap(arguments)
        with self._iteration("__call__", arguments, callbacks):
            return original(pipeline, **kwargs)

    def _section_handler(self, section: str, belongs: Callable[[int], bool]) -> Handler:
        """A handler that records a section for a function called inside a monitored call."""

        def handle(original: Callable[..., Any], subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            iteration = self._own_iteration()
            if iteration is None or iteration.in_component or not belongs(id(subject)) or is_dry_running():
                return original(subject, *args, **kwargs)
            inner = iteration.innermost
            if inner is not None and inner.section == section:  # such as encode_prompt, which calls _encode_prompt
                return original(subject, *args, **kwargs)
            digest = _digest(args, kwargs) if section in PROMPT_METHODS else None
            with self._section(section, digest=digest):
                return original(subject, *args, **kwargs)

        return handle

    def _entry_handler(self, method: str) -> Handler:
        """A handler that records a section for the outermost call of a component."""

        def handle(original: Callable[..., Any], module: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            slot = self._slots.get(id(module))
            if slot is None or is_dry_running():
                return original(module, *args, **kwargs)
            iteration = self._own_iteration()
            if iteration is None:
                if method not in ENTRIES or current_iteration() is not None:  # another monitored pipeline uses it
                    return original(module, *args, **kwargs)
                with self._iteration(f"{slot}_{method}", {}, Callbacks(self.pipeline, self._section)):
                    if self._own_iteration() is None:  # it could not be started
                        return original(module, *args, **kwargs)
                    return handle(original, module, args, kwargs)
            if iteration.in_component:
                return original(module, *args, **kwargs)
            if method == "forward" and slot in self._denoisers:
                iteration.begin_step()
            with self._section(f"{slot}_{method}", slot):
                return original(module, *args, **kwargs)

        return handle

    def _scheduler_handler(self, slots: SchedulerSlots) -> Handler:
        def handle(original: Callable[..., Any], scheduler: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            iteration = self._own_iteration()
            if iteration is None or iteration.in_component or is_dry_running():
                return original(scheduler, *args, **kwargs)
            sample = iteration.begin_scheduler()
            failed = True
            try:
                result = original(scheduler, *args, **kwargs)
                failed = False
                return result
            finally:
                iteration.end(sample, failed)
                if not failed:
                    iteration.end_step(slots.slot_of(scheduler))
                    if self._step_ended is not None:
                        self._step_ended(len(iteration.steps))

        return handle

    @contextlib.contextmanager
    def _section(self, section: str, component: str | None = None, digest: str | None = None) -> Iterator[None]:
        iteration = self._own_iteration()
        if iteration is None:
            yield
            return
        sample = iteration.begin(section, component, digest)
        failed = True
        try:
            yield
            failed = False
        finally:
            iteration.end(sample, failed)

    @contextlib.contextmanager
    def _iteration(self, entry: str, arguments: Mapping[str, Any], callbacks: Callbacks) -> Iterator[None]:
        attributes = dict(vars(self.pipeline))
        iteration = self._begin_iteration()
        if iteration is None:
            yield
            return
        before = set_current_iteration(iteration)
        error: str | None = None
        try:
            yield
        except BaseException as raised:
            error = "interrupted" if isinstance(raised, KeyboardInterrupt) else error_summary(raised)
            raise
        finally:
            set_current_iteration(before)
            try:
                record = iteration.close(iteration.began - self.began, entry, error)
                observed = self._module_calls.observed_calls(iteration)
            except Exception as problem:  # noqa: BLE001  an error here must not cost the generated image
                self._lose_call(problem)
            else:
                self._call_ended(MonitoredCall(arguments, attributes, callbacks, record, observed))

    def _begin_iteration(self) -> IterationRecorder | None:
        try:
            timer, memory, others = self._devices.refresh()
            return IterationRecorder(self, self._clock, self._places, timer, memory, others)
        except Exception as problem:  # noqa: BLE001  a device that cannot be read can still compute
            self._lose_call(problem)
            return None

    def _lose_call(self, problem: Exception) -> None:
        if self._call_lost is not None:
            self._call_lost(problem)


def _any_subject(subject: int) -> bool:
    """Accept any object: some pipelines recreate their processors, and all that runs inside a call belongs to it."""
    return True


def _arguments_by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    """All arguments by name, without ``self``."""
    arguments: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        else:
            arguments[name] = value
    return arguments


def _digest(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """A digest of the texts in the arguments; None if there are none."""
    named = [(name, value) for name, value in (*enumerate(args), *kwargs.items()) if name != "device"]
    texts = [(name, value) for name, value in named if _is_text(value)]
    return hashlib.blake2b(repr(texts).encode(), digest_size=8).hexdigest() if texts else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(part, str) for part in value)
    )
