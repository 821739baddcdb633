"""The record of one profiled generation: plain, frozen values without torch.

A `Profile` has facts only. Every total is the sum of its parts, every share and rate is derived on demand, and every
MAC can be traced from the total to a component, a call, a module and an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from diffprof.record.allocations import Allocations
from diffprof.record.measured import Measured
from diffprof.record.profile_views import ProfileViews
from diffprof.record.recorded_request import Environment, RecordedRequest
from diffprof.record.sizes import ComputedSize, ResizedOutput
from diffprof.record.tensors import OperationShapes, TensorInput
from diffprof.record.texts import EncodedText


@dataclass(frozen=True)
class Work:
    """The cost of some operations: exact integers, added with ``+`` and repeated with ``*``."""

    macs: int = 0
    other_flops: int = 0
    read_bytes: int = 0
    written_bytes: int = 0

    @property
    def flops(self) -> int:
        """Two floating-point operations per multiply-accumulate; `other_flops` are separate."""
        return 2 * self.macs

    @property
    def moved_bytes(self) -> int:
        return self.read_bytes + self.written_bytes

    def __add__(self, other: Work) -> Work:
        return Work(
            self.macs + other.macs,
            self.other_flops + other.other_flops,
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
        )

    def __mul__(self, times: int) -> Work:
        return Work(self.macs * times, self.other_flops * times, self.read_bytes * times, self.written_bytes * times)


NO_WORK = Work()


class _HasWork(Protocol):
    @property
    def work(self) -> Work: ...


class WorkCounts:
    """The counts of a record's `work`, as attributes of the record."""

    @property
    def macs(self: _HasWork) -> int:
        return self.work.macs

    @property
    def flops(self: _HasWork) -> int:
        return self.work.flops

    @property
    def other_flops(self: _HasWork) -> int:
        return self.work.other_flops


@dataclass(frozen=True)
class Operation:
    """One operation on one set of shapes, with all its executions in one component call."""

    name: str
    kind: str
    """linear, convolution, attention, matmul, norm, activation, elementwise, reduction, embedding, ... """
    shapes: OperationShapes
    dtype: str
    """The dtype of the result."""
    count: int
    work: Work
    """The work of all `count` executions."""
    known: bool = True
    """Whether there is a formula for the operation; if not, the ledger names it."""
    strided_bytes: int = 0
    """Bytes of inputs that are read in another order than that in memory."""


@dataclass(frozen=True)
class AttentionSite:
    """A place of attention in a component, and its shapes."""

    module: str
    """Path of the calling module, with running numbers replaced by ``*``."""
    relation: str
    """self, cross or joint."""
    batch: int
    query_tokens: int
    key_tokens: int
    heads: int
    key_heads: int
    head_size: int
    value_size: int
    causal: bool
    masked: bool


@dataclass(frozen=True)
class Attention(AttentionSite):
    """The cost of attention at one site in one component call."""

    count: int
    qk_macs: int
    softmax_flops: int
    av_macs: int

    @property
    def site(self) -> AttentionSite:
        """The site and shapes, without the cost."""
        return AttentionSite(*[getattr(self, field.name) for field in fields(AttentionSite)])

    @property
    def macs(self) -> int:
        return self.qk_macs + self.av_macs


@dataclass(frozen=True)
class ModuleWork:
    """The work of one module, without its children."""

    path: str
    """Relative to the component, ``""`` is the component itself."""
    class_name: str
    calls: int
    work: Work


@dataclass(frozen=True)
class Cost:
    """The cost of one call of a component with certain inputs; calls with equal costs share one `Cost`."""

    work: Work
    peak_live_bytes: int
    """Peak bytes of live activations during the call, without inputs and weights."""
    operations: tuple[Operation, ...] = field(default_factory=tuple)
    modules: tuple[ModuleWork, ...] = field(default_factory=tuple)
    attention: tuple[Attention, ...] = field(default_factory=tuple)
    allocations: Allocations = field(default_factory=Allocations, compare=False)
    """The allocations of the call; empty if they were not recorded."""

    @property
    def module_calls(self) -> int:
        """The number of calls of all modules together."""
        return sum(calls for _, calls in self._called_modules())

    def module_path(self, place: int) -> str:
        """Return the path of a module; that of the component itself if none was recorded."""
        if "modules" in vars(self):
            return self.modules[place].path if self.modules else ""
        called = self._called_modules()
        return called[place][0] if called else ""

    def _called_modules(self) -> Sequence[tuple[str, int]]:
        """Return path and calls of each module, without the values that take longest to compute."""
        make = vars(self).get("_table")
        if make is not None and "modules" not in vars(self):
            called: Sequence[tuple[str, int]] = make("called_modules")
            return called
        return [(module.path, module.calls) for module in self.modules]

    @classmethod
    def with_lazy_tables(cls, work: Work, peak_live_bytes: int, table: Callable[[str], Any]) -> Cost:
        """Create a cost with known sums; `table` computes a table by name when it is first used."""
        cost = object.__new__(cls)
        vars(cost).update(work=work, peak_live_bytes=peak_live_bytes, _table=table)
        return cost

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Called only for missing attributes: the tables of a lazy cost.
            make = vars(self).get("_table") if name in _TABLES else None
            if make is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            table = vars(self)[name] = make(name)
            return table

        def __reduce__(self) -> tuple[Any, ...]:
            return type(self), tuple(getattr(self, one.name) for one in fields(self))


_TABLES = ("operations", "modules", "attention", "allocations")


@dataclass(frozen=True)
class Call(WorkCounts):
    """One call of a component by the pipeline, in the order of execution."""

    component: str
    method: str
    inputs: tuple[TensorInput, ...]
    """The arguments that are or contain tensors."""
    step: int | None
    """The denoising step of the call, from 0; None outside of the loop."""
    cost: Cost

    @property
    def work(self) -> Work:
        return self.cost.work

    def __repr__(self) -> str:
        step = "" if self.step is None else f", step {self.step}"
        return f"<Call of {self.component}.{self.method}{step}: {self.macs:,} MACs>"


@dataclass(frozen=True)
class Module:
    """A module of a component, and its own parameters, without its children."""

    path: str
    class_name: str
    parameters: int


@dataclass(frozen=True)
class Component(WorkCounts):
    """One slot of the pipeline (``unet``, ``text_encoder``, ``vae``...) and its work in all calls."""

    slot: str
    class_name: str
    role: str
    """denoiser, text_encoder, image_encoder, vae, controlnet, adapter, safety_checker, pipeline or other."""
    dtype: str
    """The dtype of most of its MACs, or of most of its weights if it has no MACs."""
    parameters: int
    """Elements of all parameters, with shared ones counted once."""
    buffers: int
    """Elements of persistent buffers, which are part of a checkpoint."""
    weight_bytes: int
    """Bytes of parameters and persistent buffers in their dtypes."""
    calls: int = 0
    work: Work = NO_WORK
    peak_live_bytes: int = 0
    modules: tuple[Module, ...] = ()
    weight_bytes_by_dtype: Mapping[str, int] = field(default_factory=dict)
    """`weight_bytes` by storage type: dtypes of torch, and kinds of packed weights such as ``nf4`` or ``Q4_K``. Empty
    if it was not recorded, and without weights."""

    def __repr__(self) -> str:
        return f"<Component {self.slot}, {self.class_name}: {self.macs:,} MACs, {self.parameters:,} parameters>"


@dataclass(frozen=True)
class Stage:
    """One denoising loop: a scheduler, its denoisers and the cost of each step."""

    scheduler: str
    denoisers: tuple[str, ...]
    step_macs: tuple[int, ...]
    """MACs of the denoisers, ControlNets and adapters in each executed step."""

    @property
    def count(self) -> int:
        return len(self.step_macs)

    @property
    def macs(self) -> int:
        """MACs of one step; if steps differ, of the most frequent one (the first if tied)."""
        return max(self.step_macs, key=self.step_macs.count, default=0)


@dataclass(frozen=True)
class Steps:
    """The executed denoising steps. A cascade has one stage for each of its loops."""

    stages: tuple[Stage, ...] = ()

    @property
    def main(self) -> Stage | None:
        """The stage with the most MACs."""
        return max(self.stages, key=lambda stage: sum(stage.step_macs), default=None)

    @property
    def count(self) -> int:
        return self.main.count if self.main else 0

    @property
    def macs(self) -> int:
        return self.main.macs if self.main else 0


@dataclass(frozen=True)
class Total(WorkCounts):
    """The whole generation: the sum of the components."""

    work: Work
    parameters: int
    buffers: int
    weight_bytes: int
    calls: int


@dataclass(frozen=True)
class Ledger:
    """The coverage of the count: which operations are known and which are not; nothing is silently zero."""

    executed_ops: int
    known_ops: int
    """Executed operations that have a formula or only move data."""
    moved_bytes: int
    known_bytes: int
    unknown: Mapping[str, int] = field(default_factory=dict)
    """Operations without a formula, and how often they were executed."""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placement:
    """How the pipeline's own model offload (``enable_model_cpu_offload``) treats its components."""

    offload_order: tuple[str, ...] = ()
    """Slots in order; each leaves the device when the next one is called."""
    stay_on_device: tuple[str, ...] = ()
    """Slots that are never moved off the device."""


@dataclass(frozen=True)
class MacsRange:
    """The MACs of a generation if they depend on weights, because a cache may or may not skip work.

    The profile itself has the maximum.
    """

    least: int
    most: int


DRY_RUN, LAW = "dry run", "law"
"""The ways to count."""


@dataclass(frozen=True)
class Profile(ProfileViews):
    """The cost of one generation, and its parts."""

    request: RecordedRequest
    environment: Environment
    components: Mapping[str, Component]
    steps: Steps
    calls: tuple[Call, ...]
    ledger: Ledger
    resized: tuple[ResizedOutput, ...] = ()
    computed_size: ComputedSize | None = None
    """None if the pipeline computes at the size of the result."""
    placement: Placement | None = None
    """None if it was not recorded."""
    macs_range: MacsRange | None = None
    """None if the MACs do not depend on weights."""
    measured: Measured | None = None
    """The real runs; None if it was only counted."""
    texts: tuple[EncodedText, ...] = ()
    """The inputs of text encoders; also empty if they were not recorded."""
    counted_by: str = field(default=DRY_RUN, compare=False)
    """``dry run``, or ``law``: the law of the model, which was proved to give the same count."""

    @cached_property
    def total(self) -> Total:
        parts = self.components.values()
        return Total(
            work=sum((part.work for part in parts), NO_WORK),
            parameters=sum(part.parameters for part in parts),
            buffers=sum(part.buffers for part in parts),
            weight_bytes=sum(part.weight_bytes for part in parts),
            calls=sum(part.calls for part in parts),
        )

    def costs(self) -> Iterator[tuple[Call, int]]:
        """Yield each distinct cost once: the first call with it, and the number of calls."""
        counts: dict[tuple[str, int], int] = {}
        first: dict[tuple[str, int], Call] = {}
        for call in self.calls:
            key = (call.component, id(call.cost))
            counts[key] = counts.get(key, 0) + 1
            first.setdefault(key, call)
        for key, call in first.items():
            yield call, counts[key]

    def __iter__(self) -> Iterator[Component]:
        """Iterate over the components in the order of their first calls."""
        return iter(self.components.values())

    def __repr__(self) -> str:
        return f"<Profile of {self.request.model}: {self.total.macs:,} MACs, {self.total.parameters:,} parameters>"
