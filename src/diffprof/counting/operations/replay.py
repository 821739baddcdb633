"""Count calls of equal modules with equal inputs once, and replay the others event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from diffprof.counting.operations.allocation_log import LiveStorage
from diffprof.counting.operations.input_lists import HeldTensors, fill
from diffprof.counting.operations.module_outputs import (
    Inputs,
    NotReplayableError,
    OutputPlan,
    input_signature,
    plan_output,
)
from diffprof.counting.operations.recorder import AttentionCall, CallTally, OperationRecorder
from diffprof.counting.operations.relations import INSPECTED_FRAMES, pattern, stream_shapes
from diffprof.record.executed_calls import ExecutedOp


class ModuleReplay:
    """The counted module calls of one component call, for replay."""

    def __init__(
        self, recorder: OperationRecorder, call: CallTally, number_of: Callable[[torch.nn.Module], int | None]
    ) -> None:
        self._recorder = recorder
        self._call = call
        self._number_of = number_of
        """Returns the same number for equal modules, and None for a module that must not be replayed."""
        self._recordings: dict[Any, _Recording | None] = {}
        """None if the recording cannot be replayed."""
        self._called: set[str] = set()

    def run(
        self, path: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: Any, execute: Callable[[], Any]
    ) -> Any:
        """Return the output of the module, which the recorder has already entered."""
        number = self._number_of(module) if module._modules and self._is_repeated(path) else None
        inputs = Inputs()
        signature = None if number is None else input_signature(args, kwargs, inputs)
        if signature is None:
            return execute()
        key = (number, signature, self._context())
        if key not in self._recordings:
            output, self._recordings[key] = self._record(path, (args, kwargs), inputs, execute)
            return output
        recording = self._recordings[key]
        if recording is None or recording.only_at not in (None, path):
            return execute()
        freed = recording.to_free(inputs, self._recorder, self._call)
        return execute() if freed is None else recording.play(self._recorder, self._call, path, inputs, freed)

    def _is_repeated(self, path: str) -> bool:
        """Whether the module is probably called again: a numbered block of a list, or a module in its second call."""
        if path.rpartition(".")[2].isdigit() or path in self._called:
            return True
        self._called.add(path)
        return False

    def _context(self) -> Any:
        """Return what a call depends on besides the module and its inputs."""
        frames = self._recorder.frames
        return (
            tuple([stream_shapes(frame) for frame in (*frames[:1], *frames[-INSPECTED_FRAMES:-1])]),
            self._recorder.unfused_attention.state(),
            torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu"),
            torch.get_default_dtype(),
        )

    def _record(
        self,
        path: str,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        inputs: Inputs,
        execute: Callable[[], Any],
    ) -> tuple[Any, _Recording | None]:
        call, recorder = self._call, self._recorder
        begin, first, attended = len(call.log.raw), call.log.count, len(call.attended)
        effects, before_call = self._effects(*arguments, Inputs())
        held = HeldTensors(inputs.lists)
        earlier = held.in_log(recorder.live, call.log)
        before = {name: dict(tally) for name, tally in call.by_module.items() if _is_inside(name, path)}
        calls = {name: call.module_calls.get(name, 0) for name in before}
        output = execute()
        given = Inputs()
        effects_after, after_call = self._effects(*arguments, given)
        if effects_after != effects or list(map(id, given.tensors)) != list(map(id, inputs.tensors)):
            return output, None
        contents = held.contents(before_call, after_call)
        if contents is None:
            return output, None
        try:
            events = _Events(call.log.raw[begin:], first, path, earlier)
            plan = plan_output((output, contents), inputs.tensors, recorder.live.numbers_since(call.log, first))
        except NotReplayableError:
            return output, None
        if set(plan.storages) != events.alive.keys():
            return output, None  # something was left behind, such as an entry of a cache
        work = [
            _work_since(call, name, before.get(name, {}), calls.get(name, 0), path)
            for name in call.by_module
            if _is_inside(name, path)
        ]
        attention = [(name[len(path) :], key) for name, key in call.attended[attended:]]
        only_at = None if before == {path: {}} else path
        return output, _Recording(only_at, events, work, attention, plan, held.replaced(contents))

    def _effects(self, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Inputs) -> tuple[Any, Any]:
        """Return what a call must not change to be replayed, and the elements of lists, which it may change."""
        signature = input_signature(args, kwargs, inputs)
        fixed, contents = signature or (None, None)
        return (self._call.effects, self._recorder.unfused_attention.state(), fixed), contents


def _is_inside(name: str, path: str) -> bool:
    return name.startswith(path) and name[len(path) : len(path) + 1] in ("", ".")


@dataclass(frozen=True)
class _ModuleWork:
    """The work of a module inside the called module."""

    place: str
    """Its path relative to that of the called module."""
    class_name: str
    calls: int
    operations: tuple[tuple[ExecutedOp, int], ...]


def _work_since(call: CallTally, name: str, before: dict[ExecutedOp, int], calls: int, path: str) -> _ModuleWork:
    counts = [(op, count - before.get(op, 0)) for op, count in call.by_module[name].items()]
    executed = tuple(item for item in counts if item[1] or not before)
    return _ModuleWork(name[len(path) :], call.module_classes[name], call.module_calls.get(name, 0) - calls, executed)


class _Events:
    """The allocations and releases of a module call, relative to its start."""

    def __init__(self, raw: Sequence[Any], first: int, path: str, earlier: Mapping[int, LiveStorage]) -> None:
        """`earlier` are storages that the call may free, by any index."""
        self.entries: list[Any] = []
        """As in the log, but numbers count from the first allocation, and paths are relative to the module.

        Negative numbers are those of earlier storages, from -1 downwards.
        """
        self.freed: list[int] = []
        """Indices of the earlier storages that were freed."""
        self.alive: dict[int, int] = {}
        """The bytes that were not released, by number."""
        self.allocations = self.peak = now = 0
        indices = {storage.number: index for index, storage in earlier.items()}
        sizes = {index: storage.size for index, storage in earlier.items()}
        for entry in raw:
            if entry.__class__ is int:
                number = entry - first
                if number in self.alive:
                    now -= self.alive.pop(number)
                elif entry in indices:
                    self.freed.append(indices[entry])
                    now -= sizes[indices[entry]]
                    number = -1 - indices[entry]
                else:
                    raise NotReplayableError  # something else that existed before was released
                entry = number
            elif entry[0].__class__ is int:
                size, owner = entry
                if not _is_inside(owner, path):
                    raise NotReplayableError
                self.alive[self.allocations] = size
                self.allocations += 1
                now += size
                self.peak = max(self.peak, now)
                entry = (size, owner[len(path) :])
            self.entries.append(entry)

    def entries_from(self, first: int, path: str, earlier: Mapping[int, LiveStorage]) -> Iterable[Any]:
        """Return the entries for a log in which the next allocation has the number `first`."""
        for entry in self.entries:
            if entry.__class__ is int:
                yield first + entry if entry >= 0 else earlier[-1 - entry].number
            elif entry[0].__class__ is int:
                yield entry[0], path + entry[1]
            else:
                yield entry


@dataclass(frozen=True)
class _Recording:
    """A counted module call."""

    only_at: str | None
    """The only module that it may be replayed for, if it was not that module's first call; None for all equal ones."""
    events: _Events
    work: list[_ModuleWork]
    attention: list[tuple[str, AttentionCall]]
    output: OutputPlan
    """Of the output, and of what is in the lists afterwards."""
    replaced: Mapping[int, tuple[int, int]]
    """Tensors in lists that the call replaces, and how many held them."""

    def to_free(self, inputs: Inputs, recorder: OperationRecorder, call: CallTally) -> Mapping[int, LiveStorage] | None:
        """Return what another call frees; None if it might free something else."""
        if not self.replaced:
            return {}
        held = HeldTensors(inputs.lists)
        earlier = held.in_log(recorder.live, call.log)
        is_held = all(held.holders(index) == holders for index, holders in self.replaced.items())
        if not is_held or any(index not in earlier for index in self.events.freed):
            return None
        return {index: earlier[index] for index in self.events.freed}

    def play(
        self,
        recorder: OperationRecorder,
        call: CallTally,
        path: str,
        inputs: Inputs,
        freed: Mapping[int, LiveStorage],
    ) -> Any:
        """Count the same work for an equal module, and return a new output."""
        for module in self.work:
            name = path + module.place
            tally = call.module_tally(name, module.class_name)
            if module.calls:
                call.module_calls[name] = call.module_calls.get(name, 0) + module.calls
            for op, count in module.operations:
                tally[op] = tally.get(op, 0) + count
        for place, attention in self.attention:
            call.add_attention(path + place, replace(attention, module=pattern(path + place)))
        (output, contents), storages = self.output.make(inputs.tensors)
        events, first = self.events, call.log.count
        recorder.live.replay(events.entries_from(first, path, freed), events.allocations, events.peak)
        for number, storage in storages.items():
            recorder.live.keep(storage, first + number)
        for earlier in freed.values():
            earlier.log = None  # it has the release already
        fill(inputs.lists, contents)
        return output
