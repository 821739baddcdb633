"""Watches a pipeline: every call of it, of its components, its scheduler and its own methods is timed where it is made.

Nothing of the pipeline is changed. Functions of its classes are intercepted, and only calls that belong to this very
pipeline are looked at; any other goes straight through.
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

import torch

from diffprof.counting.dry_run import is_dry_running
from diffprof.errors import RequestError
from diffprof.pipelines.components import (
    DENOISING_ROLES,
    SchedulerSlots,
    components_of,
    entry_methods,
    is_compiled,
    parts_of,
    replaced_methods,
    role_of,
    schedulers_of,
    unwrap_compiled,
)
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.record.measured import Iteration
from diffprof.runtime.instrumentation.cache_events import watch_caches
from diffprof.runtime.instrumentation.callbacks import Callbacks
from diffprof.runtime.instrumentation.interception import Handler, intercept, intercept_own
from diffprof.runtime.instrumentation.iteration_recorder import (
    IterationRecorder,
    current_iteration,
    set_current_iteration,
)
from diffprof.runtime.instrumentation.memory_reader import DeviceAllocator, MemoryReader
from diffprof.runtime.instrumentation.weight_moves import watch_moves
from diffprof.runtime.timing.devices import DeviceTimer
from diffprof.runtime.timing.sections import Clock

PIPELINE_METHODS = (
    "encode_prompt", "_encode_prompt", "encode_image", "prepare_latents", "prepare_image_latents",
    "prepare_mask_latents", "prepare_ip_adapter_image_embeds", "prepare_image", "prepare_control_image",
    "decode_latents", "run_safety_checker",
)  # fmt: skip
"""What pipelines do themselves and is worth a line of its own."""

ENTRIES = ("forward", "encode", "decode", "generate")
"""By these a component computes when somebody calls it outside of the pipeline; others may be mere switches."""

PROCESSOR_METHODS = ("preprocess", "postprocess", "preprocess_video", "postprocess_video")
PROMPT_METHODS = ("encode_prompt", "_encode_prompt")


@dataclass(frozen=True)
class MonitoredCall:
    """One call that was watched: what it was called with, and what was seen."""

    arguments: Mapping[str, Any]
    before: Mapping[str, Any]
    """The attributes that the pipeline had when it was called: some keep what they have encoded once."""
    callbacks: Callbacks
    iteration: Iteration


class PipelineMonitor:
    """Watches one pipeline from `start` to `stop`; tells `ended` of every call of it, `step_ended` of every step."""

    def __init__(
        self,
        pipeline: Any,
        ended: Callable[[MonitoredCall], None],
        step_ended: Callable[[int], None] | None = None,
        clock: Clock = time.perf_counter_ns,
        device: DeviceTimer | None = None,
        memory: MemoryReader | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.began = clock()
        self._ended = ended
        self._step_ended = step_ended
        self._clock = clock
        on_host = execution_device(pipeline).type == "cpu"
        self._device = device if device is not None or on_host else DeviceTimer()
        self._memory = memory if memory is not None else MemoryReader(None if on_host else DeviceAllocator())
        self._look()
        self._undo: list[Callable[[], None]] = []

    def _look(self) -> None:
        """What the pipeline is made of now."""
        self._parts = parts_of(self.pipeline)
        self._components = components_of(self.pipeline)
        self._slots = {id(part): slot for slot, part in reversed(self._components.items())}
        self._places = {
            id(module): (slot, path)
            for slot, part in reversed(self._components.items())
            for path, module in unwrap_compiled(part).named_modules()
        }
        self._denoisers = {slot for slot, part in self._components.items() if role_of(slot, part) in DENOISING_ROLES}

    def start(self) -> None:
        """Begin to watch; refused for a pipeline that is watched already."""
        with _LOCK:
            if id(self.pipeline) in _WATCHED:
                raise RequestError(
                    "this pipeline is being measured already; use the run that the outer measuring() gave, or end it"
                )
            _WATCHED.add(id(self.pipeline))
        try:
            self._intercept()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Put everything back."""
        self._leave()
        with _LOCK:
            _WATCHED.discard(id(self.pipeline))

    def _leave(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _look_again(self) -> None:
        """A component or scheduler that was put in the place of another since the last call is watched as well."""
        if self._is_as_it_was():
            return
        with DRY_RUN_LOCK:  # a dry run puts schedulers of its own there as long as it lasts
            if not self._is_as_it_was():
                self._leave()
                self._look()
                self._intercept()

    def _is_as_it_was(self) -> bool:
        now = parts_of(self.pipeline)
        return now.keys() == self._parts.keys() and all(now[slot] is part for slot, part in self._parts.items())

    def _intercept(self) -> None:
        if self._device is not None:
            self._device.look()
        self._undo += [watch_caches(), watch_moves(self._components.values())]
        for owner, name, handler in self._functions():
            self._undo.append(intercept(owner, name, handler))
        for part in self._components.values():
            for name in replaced_methods(part):
                self._undo.append(intercept_own(unwrap_compiled(part), name, self._entering(name)))

    def _functions(self) -> Iterator[tuple[type, str, Handler]]:
        """Every function that is looked at, with what looks at it."""
        yield type(self.pipeline), "__call__", self._calling
        yield from self._of_pipelines()
        yield from self._of_components()
        slots = SchedulerSlots(schedulers_of(self.pipeline))
        stepping = self._stepping(slots)
        for owner in slots.classes:
            yield owner, "step", stepping
        for owner, name in self._processors():
            yield owner, name, self._within(name.removesuffix("_video"), self._always)

    def _of_pipelines(self) -> Iterator[tuple[type, str, Handler]]:
        """Methods of the pipeline, and of the pipelines that it is made of."""
        inner = {id(part): name for name, part in vars(self.pipeline).items() if hasattr(part, "register_modules")}
        parts = [part for part in vars(self.pipeline).values() if id(part) in inner]
        own = frozenset({id(self.pipeline), *inner})
        for owner in dict.fromkeys(type(part) for part in (self.pipeline, *parts)):
            for name in PIPELINE_METHODS:
                if hasattr(owner, name):
                    yield owner, name, self._within(name.removeprefix("_"), own.__contains__)
        for part in parts:
            ids = frozenset({id(part)})
            yield type(part), "__call__", self._within(inner[id(part)], ids.__contains__)

    def _of_components(self) -> Iterator[tuple[type, str, Handler]]:
        for owner in dict.fromkeys(type(part) for part in self._components.values()):
            yield owner, "__call__", self._entering("forward")
        # Compiled code that calls a method of its class was compiled with that very function, and would be compiled
        # again for another one: only those that it does not call itself are looked at.
        methods: dict[tuple[type, str], None] = {}
        for part in self._components.values():
            compiled = is_compiled(part)
            methods |= {entry: None for entry in entry_methods(part) if entry[1] in ENTRIES or not compiled}
        for owner, name in methods:
            yield owner, name, self._entering(name)

    def _processors(self) -> Iterator[tuple[type, str]]:
        found = dict.fromkeys(type(part) for part in vars(self.pipeline).values() if hasattr(part, "postprocess"))
        for owner in found:
            for name in PROCESSOR_METHODS:
                if inspect.isfunction(getattr(owner, name, None)):
                    yield owner, name

    @staticmethod
    def _always(subject: int) -> bool:
        """Processors are made anew by some pipelines: what runs inside of a watched call belongs to it."""
        return True

    def _here(self) -> IterationRecorder | None:
        """The call of this very pipeline that this thread is in."""
        iteration = current_iteration()
        return iteration if iteration is not None and iteration.owner is self else None

    def _calling(self, original: Callable[..., Any], pipeline: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        if pipeline is not self.pipeline or self._here() is not None or is_dry_running():
            return original(pipeline, *args, **kwargs)
        self._look_again()
        bound = inspect.signature(type(pipeline).__call__).bind(pipeline, *args, **kwargs)
        arguments = _given(bound)
        callbacks = Callbacks(pipeline, self._section)
        kwargs = callbacks.watched(arguments)
        with self._iteration("__call__", arguments, callbacks):
            return original(pipeline, **kwargs)

    def _within(self, section: str, belongs: Callable[[int], bool]) -> Handler:
        """A section for a function that is called inside of a watched call."""

        def handle(original: Callable[..., Any], subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            iteration = self._here()
            if iteration is None or iteration.in_component or not belongs(id(subject)) or is_dry_running():
                return original(subject, *args, **kwargs)
            inner = iteration.innermost
            if inner is not None and inner.section == section:  # such as encode_prompt, which calls _encode_prompt
                return original(subject, *args, **kwargs)
            digest = _digest(args, kwargs) if section in PROMPT_METHODS else None
            with self._section(section, digest=digest):
                return original(subject, *args, **kwargs)

        return handle

    def _entering(self, method: str) -> Handler:
        """A section for the outermost entry into a component."""

        def handle(original: Callable[..., Any], module: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            slot = self._slots.get(id(module))
            if slot is None or is_dry_running():
                return original(module, *args, **kwargs)
            iteration = self._here()
            if iteration is None:
                if method not in ENTRIES or current_iteration() is not None:  # another watched pipeline uses it
                    return original(module, *args, **kwargs)
                with self._iteration(f"{slot}_{method}", {}, Callbacks(self.pipeline, self._section)):
                    return handle(original, module, args, kwargs)
            if iteration.in_component:
                return original(module, *args, **kwargs)
            if method == "forward" and slot in self._denoisers:
                iteration.denoising()
            with self._section(f"{slot}_{method}", slot):
                return original(module, *args, **kwargs)

        return handle

    def _stepping(self, slots: SchedulerSlots) -> Handler:
        def handle(original: Callable[..., Any], scheduler: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            iteration = self._here()
            if iteration is None or iteration.in_component or is_dry_running():
                return original(scheduler, *args, **kwargs)
            sample = iteration.scheduler_begins()
            failed = True
            try:
                result = original(scheduler, *args, **kwargs)
                failed = False
                return result
            finally:
                iteration.end(sample, failed)
                if not failed:
                    iteration.scheduler_ended(slots.slot_of(scheduler))
                    if self._step_ended is not None:
                        self._step_ended(len(iteration.steps))

        return handle

    @contextlib.contextmanager
    def _section(self, section: str, component: str | None = None, digest: str | None = None) -> Iterator[None]:
        iteration = self._here()
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
        iteration = IterationRecorder(self, self._clock, self._places, self._device, self._memory)
        before = set_current_iteration(iteration)
        error: str | None = None
        try:
            yield
        except BaseException as raised:
            error = _reason(raised)
            raise
        finally:
            set_current_iteration(before)
            record = iteration.close(iteration.began - self.began, entry, error)
            self._ended(MonitoredCall(arguments, attributes, callbacks, record))


_WATCHED: set[int] = set()
_LOCK = threading.Lock()


def execution_device(pipeline: Any) -> torch.device:
    """Where the pipeline computes: offloaded weights lie elsewhere."""
    found: Any = getattr(pipeline, "_execution_device", None) or getattr(pipeline, "device", "cpu")
    return torch.device(found)


def _given(bound: inspect.BoundArguments) -> dict[str, Any]:
    """All arguments by name, without the object itself."""
    given: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        else:
            given[name] = value
    return given


def _digest(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Of the texts in the arguments; None where there is none to encode."""
    named = [(name, value) for name, value in (*enumerate(args), *kwargs.items()) if name != "device"]
    texts = [(name, value) for name, value in named if _is_text(value)]
    return hashlib.blake2b(repr(texts).encode(), digest_size=8).hexdigest() if texts else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(part, str) for part in value)
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0][:300]}" if message else type(error).__name__
