"""The part of a profile that its time depends on: each kind of component call once, with its operations as loads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeVar, cast

from diffprof.record.profile import Attention, Call, Cost, Operation, Profile
from diffprof.record.tensors import Shape

GEMM, CONVOLUTION, ATTENTION, MEMORY, VIEW = "gemm", "convolution", "attention", "memory", "view"
"""How an operation loads a device: by products of three sorts, by moving memory, or not at all."""

T = TypeVar("T")


@dataclass(frozen=True)
class Load:
    """Equal operations of one component call, as a device sees them.

    A product has `batch` times an output of `rows` x `columns`, each element a sum of `inner` products. Of attention,
    rows are queries, columns are keys and inner is the size of a head.
    """

    sort: str
    kind: str
    """As the profile has it: linear, norm, elementwise..."""
    dtype: str
    count: int
    """How often one call executes it."""
    macs: int
    """Of one execution, as all figures below."""
    other_flops: int
    read_bytes: int
    written_bytes: int
    strided_bytes: int = 0
    batch: int = 1
    rows: int = 1
    columns: int = 1
    inner: int = 1
    weight_bytes: int = 0
    """Of the read bytes, those of a weight: what quantization makes smaller."""
    taps: int = 1
    """Positions of a convolution's kernel."""
    masked: bool = False
    causal: bool = False
    elements: int = 0
    """Of the largest tensor of what is no product."""
    scattered: bool = False
    """Must the place of each element be worked out, as for an input that is broadcast or copied elsewhere?"""

    @property
    def moved_bytes(self) -> int:
        return self.read_bytes + self.written_bytes


class Loads(tuple[Load, ...]):
    """The loads of one kind of call; what is worked out from them is worked out once."""

    @cached_property
    def _results(self) -> dict[Hashable, Any]:
        return {}

    def derive(self, name: Hashable, make: Callable[[Loads], T]) -> T:
        """What `make` makes of the loads; the name stands for it."""
        if name not in self._results:
            self._results[name] = make(self)
        return cast("T", self._results[name])


@dataclass(frozen=True)
class CallLoads:
    """One kind of component call and how often it is made."""

    component: str
    method: str
    times: float
    in_loop: bool
    """Is it part of the denoising steps?"""
    module_calls: int
    loads: Loads
    cost: Cost | None = field(default=None, repr=False, compare=False)
    """What the loads were read off; None where they were changed since."""


@dataclass(frozen=True)
class Workload:
    """All that a generation executes."""

    calls: tuple[CallLoads, ...]
    steps: int


def workload_of(profile: Profile, similar: Workload | None = None) -> Workload:
    """The loads of a profile, equal calls together; those of costs that `similar` has, too, are not made again."""
    known = {id(call.cost): call for call in similar.calls if call.cost is not None} if similar is not None else {}
    grouped: dict[tuple[str, str, int, bool], int] = {}
    first: dict[tuple[str, str, int, bool], Call] = {}
    for call in profile.calls:
        key = (call.component, call.method, id(call.cost), call.step is not None)
        grouped[key] = grouped.get(key, 0) + 1
        first.setdefault(key, call)
    calls = tuple(_call_loads(call, grouped[key], known.get(id(call.cost))) for key, call in first.items())
    return Workload(calls, sum(stage.count for stage in profile.steps.stages))


def _call_loads(call: Call, times: int, known: CallLoads | None) -> CallLoads:
    cost = call.cost
    if known is not None:
        return replace(known, component=call.component, method=call.method, times=times, in_loop=call.step is not None)
    flags = _attention_flags(cost.attention)
    return CallLoads(
        component=call.component,
        method=call.method,
        times=times,
        in_loop=call.step is not None,
        module_calls=cost.module_calls,
        loads=Loads(load_of(operation, flags) for operation in cost.operations if operation.count),
        cost=cost,
    )


_Flags = Mapping[tuple[int, ...], tuple[bool, bool]]


def _attention_flags(attention: Iterable[Attention]) -> _Flags:
    """Whether attention on certain shapes is masked, and causal."""
    return {
        (part.batch * part.heads, part.query_tokens, part.key_tokens, part.head_size): (part.masked, part.causal)
        for part in attention
    }


def load_of(operation: Operation, flags: _Flags | None = None) -> Load:
    """The load of one operation of a profile."""
    count, work = operation.count, operation.work
    amounts = (
        operation.kind, operation.dtype, count, work.macs // count, work.other_flops // count,
        work.read_bytes // count, work.written_bytes // count, operation.strided_bytes // count,
    )  # fmt: skip
    shape = _product_shape(operation)
    if shape is None:
        if not (work.moved_bytes or work.other_flops):
            return Load(VIEW, *amounts)
        elements = max(map(prod, (*operation.shapes.inputs, *operation.shapes.outputs)), default=0)
        return Load(MEMORY, *amounts, elements=elements, scattered=_is_scattered(operation))
    sort, batch, rows, columns, inner, taps = shape
    weight_bytes = _weight_bytes(operation) if operation.kind in ("linear", "convolution") else 0
    masked = causal = False
    if sort == ATTENTION:
        weight_bytes = 0
        masked, causal = (flags or {}).get((batch, rows, columns, inner), (False, False))
    return Load(sort, *amounts, batch, rows, columns, inner, weight_bytes, taps, masked, causal)


IN_ORDER = frozenset({"_to_copy", "fill", "zero", "uniform", "normal", "bernoulli"})
"""Movements that keep every element in its place."""


def _is_scattered(operation: Operation) -> bool:
    if operation.kind == "data movement":
        return operation.name not in IN_ORDER
    sizes = {prod(shape) for shape in (*operation.shapes.inputs, *operation.shapes.outputs[:1])}
    return operation.kind in ("elementwise", "activation") and len(sizes - {1}) > 1


_ProductShape = tuple[str, int, int, int, int, int]


def _product_shape(operation: Operation) -> _ProductShape | None:
    """The sort of a product, its batch, rows, columns, inner size and taps; None for what is no product."""
    macs = operation.work.macs // operation.count
    inputs, outputs = operation.shapes.inputs, operation.shapes.outputs
    if not macs or not outputs:
        return None
    out = outputs[0]
    if operation.kind == "attention" and len(inputs) >= 3 and len(inputs[0]) >= 2:
        return _attention_shape(inputs)
    if operation.kind == "convolution" and len(inputs) >= 2:
        return _convolution_shape(inputs, out, macs)
    columns = out[-1] if out else 1
    batch = out[0] if len(out) == 3 and operation.kind in ("matmul", "attention") else 1
    rows = max(1, prod(out) // columns // batch)
    inner = max(1, macs // max(1, prod(out)))
    return GEMM, batch, rows, columns, inner, 1


def _attention_shape(inputs: tuple[Shape, ...]) -> _ProductShape:
    query, key = inputs[0], inputs[1]
    return ATTENTION, prod(query[:-2]), query[-2], key[-2], query[-1], 1


def _convolution_shape(inputs: tuple[Shape, ...], out: Shape, macs: int) -> _ProductShape:
    weight = inputs[1]
    taps = prod(weight[2:])
    channels = out[1] if len(out) > 1 else 1
    inner = max(1, macs // max(1, prod(out)))
    groups = max(1, inputs[0][1] * taps // inner) if len(inputs[0]) > 1 and inner >= taps else 1
    groups = groups if channels % groups == 0 else 1
    return CONVOLUTION, groups, max(1, prod(out) // channels), channels // groups, inner, taps


def _weight_bytes(operation: Operation) -> int:
    inputs, count = operation.shapes.inputs, operation.count
    if len(inputs) < 2:
        return 0
    elements = sum(prod(shape) for shape in inputs)
    return operation.work.read_bytes // count * prod(inputs[1]) // max(1, elements)
