"""Count executed operations per component call, module and operation, together with live bytes.

The recorder does not care whether tensors are real or virtual. Modes such as `virtual.VirtualMode` report every
executed operation; the component boundaries and `ModuleCalls` report its place in the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from diffprof.counting.formulas import kinds
from diffprof.counting.formulas import table as formulas
from diffprof.counting.formulas.products import AttentionShape
from diffprof.counting.operations.allocation_log import AllocationLog, LiveBytes
from diffprof.counting.operations.autocast import Autocast
from diffprof.counting.operations.layouts import stored_bytes, strided_bytes
from diffprof.counting.operations.relations import Frame, pattern, relation_of
from diffprof.counting.operations.tensors import dtype_text
from diffprof.counting.operations.unfused_attention import UnfusedAttention
from diffprof.record.executed_calls import ExecutedCall, ExecutedOp, ModuleTally
from diffprof.record.profile import Attention, Cost
from diffprof.record.tensors import OperationShapes, Shape

PIPELINE = "pipeline"
"""The slot of operations that the pipeline's own code executes outside of components: schedulers, latents."""


def executed_op(
    op: Any, tensors: Sequence[torch.Tensor], arguments: Sequence[Any], result: Any, name: str = ""
) -> ExecutedOp:
    """Compute the cost of an operation from its arguments and its result."""
    cost = formulas.cost_of(op, arguments, result)
    outputs = [value for value in _flatten(result) if isinstance(value, torch.Tensor)]
    read, written = _moved_bytes(op, cost.kind, tensors, outputs)
    return ExecutedOp(
        name=name or formulas.plain_name(op),
        kind=cost.kind,
        shapes=OperationShapes(_shapes(tensors), _shapes(outputs)),
        dtype=dtype_text(next(iter([*outputs, *tensors]), None)),
        macs=cost.macs,
        other_flops=cost.other_flops,
        read_bytes=read,
        written_bytes=written,
        strided_bytes=strided_bytes(cost.kind, tensors, outputs) if read else 0,
    )


def _shapes(tensors: Iterable[torch.Tensor]) -> tuple[Shape, ...]:
    return tuple(tuple(tensor.shape) for tensor in tensors)


GATHERS = frozenset({"embedding", "index_select", "index", "gather", "take", "masked_select", "_unsafe_index"})
"""Operations that read as much of their first input as they write."""


def _moved_bytes(
    op: Any, kind: str, tensors: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> tuple[int, int]:
    """Return the bytes read and written, with each tensor counted once, as for a kernel without a cache."""
    name = formulas.plain_name(op)
    if formulas.is_view(op) or (kind == kinds.CREATION and "empty" in name):
        return 0, 0
    written = sum(stored_bytes(tensor) for tensor in outputs)
    if name in GATHERS:
        return written + sum(stored_bytes(tensor) for tensor in tensors[1:]), written
    return sum(stored_bytes(tensor) for tensor in tensors), written


def _flatten(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flatten(part)
    else:
        yield value


@dataclass(frozen=True)
class AttentionCall:
    """The properties of an attention call; equal calls are added up."""

    relation: str
    module: str
    shape: AttentionShape
    causal: bool
    masked: bool
    scaled: bool
    """Whether the kernel scales the scores itself, instead of a separate operation."""


class Origins:
    """Tracks which real inputs of a component call its code has read values of.

    A call may be replayed for other inputs of the same shapes if the inputs that it read have the same values.
    """

    def __init__(self) -> None:
        self.inputs_read: set[int] = set()
        self._of: WeakTensorKeyDictionary = WeakTensorKeyDictionary()

    def mark_inputs(self, tensors: Mapping[int, torch.Tensor]) -> None:
        for number, tensor in tensors.items():
            self._of[tensor] = self._of.get(tensor, frozenset()) | {number}

    def propagate(self, tensors: Sequence[torch.Tensor], result: Any) -> None:
        origins = self._origins(tensors)
        if origins:
            for tensor in _flatten(result):
                if isinstance(tensor, torch.Tensor):
                    self._of[tensor] = self._of.get(tensor, frozenset()) | origins

    def mark_read(self, tensors: Sequence[torch.Tensor]) -> None:
        self.inputs_read |= self._origins(tensors)

    def _origins(self, tensors: Sequence[torch.Tensor]) -> frozenset[int]:
        if not self._of:
            return frozenset()
        return frozenset().union(*(self._of.get(tensor, frozenset()) for tensor in tensors))


class CallTally:
    """Everything that one component call executed."""

    def __init__(self, live_bytes_before: int) -> None:
        self.live_bytes_before = live_bytes_before
        self.log = AllocationLog()
        self.by_module: dict[str, dict[ExecutedOp, int]] = {}
        self.module_calls: dict[str, int] = {}
        self.module_classes: dict[str, str] = {}
        self.attention: dict[AttentionCall, int] = {}
        self.origins = Origins()
        self.assumptions: dict[str, None] = {}
        self.attended: list[tuple[str, AttentionCall]] = []
        """Attention calls in order, with their modules."""
        self.effects = 0
        """How many effects happened that another call could depend on, or that depend on values."""

    def add_attention(self, path: str, call: AttentionCall) -> None:
        self.attention[call] = self.attention.get(call, 0) + 1
        self.attended.append((path, call))

    def module_tally(self, path: str, class_name: str) -> dict[ExecutedOp, int]:
        tally = self.by_module.get(path)
        if tally is None:
            tally = self.by_module[path] = {}
            self.module_classes[path] = class_name
        return tally

    def executed_work(self) -> ExecutedCall:
        """Return the work so far."""
        modules = [
            ModuleTally(path, self.module_classes[path], self.module_calls.get(path, 0), tuple(tally.items()))
            for path, tally in self.by_module.items()
        ]
        attention = [(_attention_record(call, count), call.scaled) for call, count in self.attention.items()]
        return ExecutedCall(modules, attention, tuple(self.log.raw))

    def cost(self, peak_live_bytes: int) -> Cost:
        return self.executed_work().cost(peak_live_bytes)


def _attention_record(call: AttentionCall, count: int) -> Attention:
    shape = call.shape
    return Attention(
        module=call.module, relation=call.relation, batch=shape.batch,
        query_tokens=shape.query_tokens, key_tokens=shape.key_tokens,
        heads=shape.heads, key_heads=shape.key_heads, head_size=shape.head_size, value_size=shape.value_size,
        causal=call.causal, masked=call.masked, count=count,
        qk_macs=shape.qk_macs * count, av_macs=shape.av_macs * count,
        softmax_flops=shape.softmax_flops(call.scaled) * count,
    )  # fmt: skip


class OperationRecorder:
    """The running count. At most one component call is open; operations outside of it count as the pipeline's own."""

    def __init__(self) -> None:
        self.live = LiveBytes()
        self.outside = CallTally(0)
        self.live.log = self.outside.log
        self.open: CallTally | None = None
        self.frames: list[Frame] = []
        self.autocast: Autocast | None = None
        """The autocast around the pipeline's call."""
        self.assumptions: dict[str, None] = {}
        self._tally = self.outside.module_tally("", "")
        self.unfused_attention = UnfusedAttention(self)

    @contextmanager
    def component_call(self, class_name: str) -> Any:
        """Count the operations in the block for a new component call; yield its tally."""
        call = CallTally(self.live.start_peak())
        before, frames, owner = self._tally, self.frames, self.live.owner
        self.open, self.frames = call, []
        self.live.log, self.live.owner = call.log, ""
        self._tally = call.module_tally("", class_name)
        try:
            yield call
        finally:
            self.open, self._tally, self.frames = None, before, frames
            self.live.log, self.live.owner = self.outside.log, owner

    def enter_module(self, path: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = self.open or self.outside
        call.module_calls[path] = call.module_calls.get(path, 0) + 1
        tally = call.module_tally(path, type(module).__name__)
        self.frames.append(Frame(path, module, args, kwargs, self._tally))
        self._tally = tally
        self.live.owner = path

    def leave_module(self) -> None:
        self._tally = self.frames.pop().tally
        self.live.owner = self.frames[-1].path if self.frames else ""

    def note_workspace(self, op: ExecutedOp, masked: bool = False) -> None:
        """Note that the operation may need memory besides its inputs and outputs, as GPU kernels do."""
        self.live.log.raw.append((op, masked))

    def add(self, op: ExecutedOp) -> None:
        tally = self._tally
        tally[op] = tally.get(op, 0) + 1

    def replace(self, tally: dict[ExecutedOp, int], old: ExecutedOp, new: ExecutedOp) -> None:
        tally[old] -= 1
        tally[new] = tally.get(new, 0) + 1

    @property
    def tally(self) -> dict[ExecutedOp, int]:
        return self._tally

    def watch(self, op: ExecutedOp, arguments: Sequence[Any], result: Any) -> None:
        """Look for attention that consists of two matrix products around a softmax."""
        self.unfused_attention.observe(op, arguments, result)

    def add_attention(self, shape: AttentionShape, causal: bool, masked: bool, scaled: bool = True) -> None:
        call = self.open or self.outside
        path = self.frames[-1].path if self.frames else ""
        relation = relation_of(self.frames, shape.query_tokens, shape.key_tokens)
        call.add_attention(path, AttentionCall(relation, pattern(path), shape, causal, masked, scaled))

    def assume(self, sentence: str) -> None:
        self.assumptions.setdefault(sentence)
        if self.open is not None:
            self.open.assumptions.setdefault(sentence)

    def propagate(self, tensors: Sequence[torch.Tensor], result: Any) -> None:
        """Note that a real result was computed from real tensors."""
        if self.open is not None:
            self.open.origins.propagate(tensors, result)

    def mark_read(self, tensors: Sequence[torch.Tensor]) -> None:
        """Note that code has read the values of real tensors, on which its behaviour may depend."""
        if self.open is not None:
            self.open.origins.mark_read(tensors)
            self.open.effects += bool(tensors)

    def note_effect(self) -> None:
        """Note a change that outlasts the call: to the values of a real tensor, or to an attribute."""
        if self.open is not None:
            self.open.effects += 1
