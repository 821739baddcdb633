"""Run a pipeline's own ``__call__`` on virtual weights and record what every component call costs."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from diffprof.counting import environment_patches
from diffprof.counting.boundary import (
    Copies,
    is_replayable,
    leaves,
    output_sizes,
    signature,
    tensor_inputs,
    with_real_zeros,
)
from diffprof.counting.counted_calls import CountedCall, CountedCalls, digest_values, shares_storage
from diffprof.counting.garbage_collection import no_garbage_collection
from diffprof.counting.isolation import (
    refuse_nesting,
    refuse_unknown_code,
    scheduler_copies,
    single_thread,
    with_generators_on_host,
)
from diffprof.counting.operations.allocation_log import AllocationLog
from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.replay import ModuleReplay
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.counting.steps import StepRecorder
from diffprof.counting.texts import TextRecorder
from diffprof.errors import DiffprofError
from diffprof.pipelines.components import (
    entry_methods,
    replaced_methods,
    unwrap_compiled,
)
from diffprof.pipelines.failures import is_own_mistake, panics_as_errors, pipeline_failure
from diffprof.pipelines.patching import DRY_RUN_LOCK, Patches
from diffprof.record.executed_calls import ExecutedCall
from diffprof.record.profile import Call, Cost, Stage
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.record.sizes import ComputedSize
from diffprof.record.texts import EncodedText


@dataclass(frozen=True)
class DryRunResult:
    """The result of a dry run, in the order of execution."""

    calls: tuple[Call, ...]
    stages: tuple[Stage, ...]
    outside: Cost
    """The cost of the pipeline's own code outside of components."""
    assumptions: tuple[str, ...]
    sizes: dict[str, int]
    """Height, width and frames of the output."""
    computed_size: ComputedSize | None = None
    """The size that the pipeline computes at, if the output has another."""
    texts: tuple[EncodedText, ...] = ()
    executed: Mapping[int, ExecutedCall] = field(default_factory=dict)
    """The single operations of each distinct cost, by the `id` of the cost."""
    call_stages: tuple[int | None, ...] = ()
    """The number of the stage that each call belongs to."""
    decoded: Mapping[str, int] = field(default_factory=dict)
    """Height and width of the last output of the VAE."""


def dry_run(
    pipeline: Any,
    arguments: dict[str, Any],
    prepare: Callable[[], None] | None = None,
    progress: Progress | None = None,
    changes: Callable[[Any, Patches], None] | None = None,
    large_values: bool = False,
    counted: CountedCalls | None = None,
) -> DryRunResult:
    """Call the pipeline with these arguments without computing anything, and leave it exactly as it was.

    `prepare` is called first and may change the pipeline. `changes` is called with the pipeline and its `Patches`,
    after those of the dry run itself. Everything is restored afterwards. With `large_values`, code that branches on
    values which depend on weights gets large ones instead of zeros. Component calls in `counted`, from an earlier dry
    run of the same pipeline, are not counted again.
    """
    autocast = environment_patches.surrounding_autocast(pipeline)
    with (
        DRY_RUN_LOCK, refuse_nesting(), single_thread(), no_garbage_collection(),
        environment_patches.without_autocast(), environment_patches.host_as_default_device(),
    ):  # fmt: skip
        counted = CountedCalls() if counted is None else counted
        snapshot = counted.state_of(pipeline, arguments)
        refuse_unknown_code(pipeline, snapshot)
        try:
            if prepare is not None:
                prepare()
            run = _DryRun(pipeline, progress, large_values, counted)
            run.recorder.autocast = autocast
            with scheduler_copies(pipeline) as schedulers:
                run.execute(with_generators_on_host(arguments), schedulers, changes)
        finally:
            snapshot.restore()
            counted.forget_changes()
        if not snapshot.is_of_libraries:
            run.check_leftovers()
    return run.result()


def identity(value: Any) -> int:
    """Return the identity of an object; all hook registries without hooks have the same one."""
    return 0 if type(value).__name__ == "HookRegistry" and not value.hooks else id(value)


class _DryRun:
    def __init__(self, pipeline: Any, progress: Progress | None, large_values: bool, counted: CountedCalls) -> None:
        self.pipeline = pipeline
        self.progress = progress
        self.layout = counted.layout_of(pipeline)
        self.components = self.layout.components
        self.roles = self.layout.roles
        self.recorder = OperationRecorder()
        on_accelerator = not self.layout.is_virtual and environment_patches.is_on_accelerator(pipeline)
        self.mode = VirtualMode(self.recorder, self.layout.real_weights, on_accelerator, large_values)
        self.calls: list[Call] = []
        self.sizes: dict[str, int] = {}
        self.decoded: dict[str, int] = {}
        """Height and width of the last output of the VAE."""
        self.steps = StepRecorder(self.roles)
        self.texts = TextRecorder(pipeline)
        self.known = CountedCalls()
        """The calls of this run."""
        self.counted = counted
        """The calls of this and earlier runs, limited to calls without side effects."""
        self.costs: dict[tuple[str, str], dict[Cost, Cost]] = {}
        self.executed: dict[int, ExecutedCall] = {}
        self.changes: dict[tuple[int, str], Any] = {}
        """Attributes of modules that the pipeline has set between component calls: switches, processors."""
        self.never_replayed = self.layout.slots_with_state()
        self.replay: ModuleReplay | None = None
        """The replay of modules in the current component call."""

    def execute(
        self,
        arguments: dict[str, Any],
        schedulers: dict[str, Any],
        changes: Callable[[Any, Patches], None] | None,
    ) -> None:
        with Patches() as patches:
            environment_patches.prepare(patches, self.mode, self.pipeline, self.layout)
            if changes is not None:
                changes(self.pipeline, patches)
            self._catch_components(patches)
            self.steps.catch_schedulers(patches, schedulers)
            self.texts.catch_tokenizers(patches)
            with self.mode, FunctionMode(self.mode):
                try:
                    with panics_as_errors():
                        self.sizes = output_sizes(self.pipeline(**arguments))
                except (DiffprofError, KeyboardInterrupt):
                    raise
                except Exception as error:
                    if is_own_mistake(error):
                        raise
                    raise pipeline_failure(self.pipeline, error, "with these arguments, in its own code") from error

    def check_leftovers(self) -> None:
        """Record an assumption if unknown code still holds tensors without data."""
        self.known = CountedCalls()
        self.counted.known.clear()
        if self.recorder.live.holds_virtual():
            gc.collect()
        if self.recorder.live.holds_virtual():
            self.recorder.assume("code unknown to diffprof still holds tensors of this count, which have no data")

    def result(self) -> DryRunResult:
        staged = self.steps.arrange(self.calls)
        executed = self.recorder.outside.executed_work()
        outside = executed.cost(peak_live_bytes=0)
        return DryRunResult(
            calls=staged.calls,
            stages=staged.stages,
            outside=outside,
            assumptions=tuple(self.recorder.assumptions),
            sizes=self.sizes,
            computed_size=self._computed_size(),
            texts=tuple(self.texts.encoded),
            executed={**self.executed, id(outside): executed},
            call_stages=staged.call_stages,
            decoded=self.decoded,
        )

    def _computed_size(self) -> ComputedSize | None:
        """Return the size that the pipeline computes at, if it then resizes the image."""
        sides = [sizes.get(side) for sizes in (self.decoded, self.sizes) for side in ("width", "height")]
        known = [side for side in sides if side is not None]
        return ComputedSize(*known) if len(known) == 4 and known[:2] != known[2:] else None

    def _catch_components(self, patches: Patches) -> None:
        for component in self.components.values():
            self._catch_replaced_methods(patches, unwrap_compiled(component))
        patches.function(torch.nn.Module, "__call__", self._wrap_call)
        patches.function(torch.nn.Module, "__setattr__", self._wrap_setattr)
        methods = dict.fromkeys(entry for component in self.components.values() for entry in entry_methods(component))
        for owner, name in methods:
            patches.function(owner, name, functools.partial(self._wrap_entry, name))

    def _wrap_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self.recorder

        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if recorder.open is None:
                slot = self.layout.slots.get(id(module))
                if slot is not None:
                    return self._component_call(slot, "forward", original, module, args, kwargs)
            path = self.layout.paths.get(id(module))
            inner = unwrap_compiled(module)
            # A compiled module may be called this way by its wrapper, or directly.
            if path is None or (recorder.frames and recorder.frames[-1].module is inner):
                return original(module, *args, **kwargs)
            recorder.enter_module(path, inner, args, kwargs)
            execute = functools.partial(environment_patches.call_module, self.mode, original, module, args, kwargs)
            try:
                return execute() if self.replay is None else self.replay.run(path, module, args, kwargs, execute)
            finally:
                recorder.leave_module()

        return call

    def _wrap_setattr(self, original: Callable[..., None]) -> Callable[..., None]:
        def set_attribute(module: torch.nn.Module, name: str, value: Any) -> None:
            if self.recorder.open is None and id(module) in self.layout.paths:
                plain_value = isinstance(value, (bool, int, float, str, type(None)))
                self.changes[id(module), name] = value if plain_value else identity(value)
            if identity(value):
                self.layout.equal_modules.forget(module)
            self.recorder.note_effect()
            original(module, name, value)

        return set_attribute

    def _catch_replaced_methods(self, patches: Patches, component: torch.nn.Module) -> None:
        """Intercept methods that were replaced on the object, because they hide those of its class."""
        for name, method in replaced_methods(component).items():
            function = getattr(type(component), name)

            @functools.wraps(function)
            def original(module: torch.nn.Module, *args: Any, method: Any = method, **kwargs: Any) -> Any:
                return method(*args, **kwargs)

            patches.set(component, name, functools.partial(self._wrap_entry(name, original), component))

    def _wrap_entry(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            slot = self.layout.slots.get(id(module)) if self.recorder.open is None else None
            if slot is None:
                return original(module, *args, **kwargs)
            return self._component_call(slot, name, original, module, args, kwargs)

        return enter

    def _component_call(
        self, slot: str, method: str, original: Callable[..., Any], module: Any, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        inputs = leaves((args, kwargs))
        key = (slot, id(module), method, self._state(slot), signature((args, kwargs)))
        may_replay = self._is_stateless(slot) and is_replayable((args, kwargs))
        known = self._recall(key, inputs) if may_replay else None
        place = len(self.recorder.outside.log.raw)
        log = None
        if known is None:
            known, log = self._count(slot, method, original, module, args, kwargs, inputs)
            # An output that is one of the inputs cannot be replayed: it would be the input of another call.
            may_replay = may_replay and not shares_storage(inputs, leaves(known.output))
            if may_replay:
                self.known.add(key, known)
        for sentence in known.assumptions:
            self.recorder.assume(sentence)
        if known.cost.operations or method == "forward":
            function = type(unwrap_compiled(module)).forward if method == "forward" else original
            self._note(slot, method, function, args, kwargs, known.cost)
            self.recorder.outside.log.raw.insert(place, None)
        if method == "decode" and self.roles[slot] == "vae":
            self.decoded = output_sizes((next(iter(leaves(known.output)), None),))
        copies: Copies = []
        output = known.output if torch.is_grad_enabled() else with_real_zeros(known.output, copies, inputs)
        left_behind = self.recorder.live.hand_over(log, copies)
        if log is not None and may_replay and not left_behind:
            self.counted.add(key, known)
        return output

    def _is_stateless(self, slot: str) -> bool:
        """Whether a call of the component depends on its inputs alone and has no observers."""
        return not (slot in self.never_replayed or torch.is_grad_enabled() or self.layout.watchers[slot].any())

    def _state(self, slot: str) -> Any:
        """Return what a call depends on besides its inputs: attributes that the pipeline has changed, and the dtype."""
        weight = next(self.components[slot].parameters(), None)
        return tuple(self.changes.items()), None if weight is None else weight.dtype

    def _recall(self, key: Any, inputs: list[Any]) -> CountedCall | None:
        known = self.known.recall(key, inputs)
        if known is None:
            known = self.counted.recall(key, inputs)
            if known is not None:
                slot, _, method, *_ = key
                known = replace(known, cost=self._share_equal_cost(slot, method, known.cost, known.executed))
                self.known.add(key, known)
        return known

    def _share_equal_cost(self, slot: str, method: str, cost: Cost, executed: ExecutedCall) -> Cost:
        """Return one object for all equal costs of a run, even those that become equal only afterwards."""
        cost = self.costs.setdefault((slot, method), {}).setdefault(cost, cost)
        self.executed.setdefault(id(cost), executed)
        return cost

    def _count(
        self, slot: str, method: str, original: Any, module: Any, args: Any, kwargs: Any, inputs: list[Any]
    ) -> tuple[CountedCall, AllocationLog]:
        if self.progress:
            self.progress(ProgressEvent(Activity.counting, slot))
        recorder = self.recorder
        with recorder.component_call(type(unwrap_compiled(module)).__name__) as call:
            self.replay = (
                ModuleReplay(recorder, call, self.layout.equal_modules.number_of) if self._is_stateless(slot) else None
            )
            call.origins.mark_inputs(
                {i: x for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and not x.is_meta}
            )
            if method == "forward":
                recorder.enter_module("", unwrap_compiled(module), args, kwargs)
                try:
                    output = environment_patches.call_module(self.mode, original, module, args, kwargs)
                finally:
                    recorder.leave_module()
            else:
                output = original(module, *args, **kwargs)
            inputs_read = frozenset(call.origins.inputs_read)
            executed = call.executed_work()
            cost = executed.cost(recorder.live.peak - call.live_bytes_before)
        cost = self._share_equal_cost(slot, method, cost, executed)
        values = digest_values(inputs, inputs_read)
        return CountedCall(cost, executed, output, inputs_read, values, tuple(call.assumptions)), call.log

    def _note(self, slot: str, method: str, function: Any, args: Any, kwargs: Any, cost: Cost) -> None:
        self.steps.note_call(slot, method, len(self.calls))
        self.calls.append(Call(slot, method, tensor_inputs(function, args, kwargs), None, cost))
        self.texts.note_call(slot, function, args, kwargs)
