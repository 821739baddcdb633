"""Hypothesis strategies for whole profiles whose parts add up, as the engine makes them."""

from __future__ import annotations

from hypothesis import strategies as st

from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent, compress, step_number
from diffprof.record.profile import (
    NO_WORK,
    Attention,
    Call,
    Component,
    Cost,
    Ledger,
    Module,
    ModuleWork,
    Operation,
    Profile,
    Stage,
    Steps,
    Work,
)
from diffprof.record.recorded_request import Environment, RecordedRequest
from diffprof.record.sizes import ComputedSize, ResizedOutput
from diffprof.record.tensors import OperationShapes, TensorInput, TensorShape
from tests.record.measured_strategies import counts, measured, texts

works = st.builds(Work, counts, counts, counts, counts)
shapes = st.sampled_from([(), (0,), (2, 3), (10**24, 1, 7)])
tensor_lists = st.sampled_from([(), (TensorShape(()),), (TensorShape((2, 3), "float16"), TensorShape((0,), "\udcff"))])
tensor_inputs = st.builds(TensorInput, texts, tensor_lists)
operation_shapes = st.builds(OperationShapes, st.tuples(shapes, shapes) | st.just(()), st.tuples(shapes) | st.just(()))
operations = st.builds(Operation, texts, texts, operation_shapes, texts, counts, works, st.booleans())
module_works = st.builds(ModuleWork, texts, texts, counts, works)
attentions = st.builds(
    Attention,
    module=texts,
    relation=st.sampled_from(["self", "cross", "joint"]),
    batch=counts,
    query_tokens=counts,
    key_tokens=counts,
    heads=counts,
    key_heads=counts,
    head_size=counts,
    value_size=counts,
    causal=st.booleans(),
    masked=st.booleans(),
    count=counts,
    qk_macs=counts,
    softmax_flops=counts,
    av_macs=counts,
)
resized = st.builds(ResizedOutput, texts, counts | st.floats(min_value=0, max_value=1e100), counts)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


_EVENTS = (AllocationEvent(ALLOCATE, 512), AllocationEvent(RELEASE, 1), AllocationEvent(ALLOCATE, 4, step_number(-3)))
allocations = st.lists(st.sampled_from([[0], [0, 1], [2]]), max_size=40).map(
    lambda parts: compress(_EVENTS, [number for part in parts for number in part])
)


@st.composite
def costs(draw: st.DrawFn) -> Cost:
    parts = draw(st.lists(operations, max_size=3))
    work = sum((part.work for part in parts), NO_WORK) if parts else draw(works)
    modules = (ModuleWork("", "Model", 1, work),) if draw(st.booleans()) else ()
    attention = tuple(draw(st.lists(attentions, max_size=2)))
    return Cost(work, draw(counts), tuple(parts), modules, attention, draw(allocations))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    slots = draw(st.lists(texts, unique=True, max_size=3))
    kinds = draw(st.lists(costs(), min_size=1, max_size=3))
    one_call = st.builds(
        Call,
        component=st.sampled_from(slots or [""]),
        method=texts,
        inputs=st.lists(tensor_inputs, max_size=2).map(tuple),
        step=st.none() | counts,
        cost=st.sampled_from(kinds),
    )
    calls = tuple(draw(st.lists(one_call, max_size=6))) if slots else ()
    stages = st.builds(Stage, texts, st.lists(texts, max_size=2).map(tuple), st.lists(counts, max_size=4).map(tuple))
    known_ops, known_bytes = draw(counts), draw(counts)
    return Profile(
        request=RecordedRequest(
            model=draw(texts),
            source=draw(st.sampled_from(["catalogue", "folder", "hub", "object"])),
            pipeline=draw(texts),
            arguments=draw(st.dictionaries(texts, plain_values, max_size=3)),
            defaults=draw(st.dictionaries(texts, plain_values, max_size=3)),
            dtype=draw(st.none() | texts),
            scheduler=draw(st.none() | texts),
            enable=tuple(draw(st.lists(texts, max_size=2))),
        ),
        environment=Environment(*(draw(texts) for _ in range(5))),
        components={slot: draw(components(slot, calls)) for slot in slots},
        steps=Steps(tuple(draw(st.lists(stages, max_size=2)))),
        calls=calls,
        ledger=Ledger(
            executed_ops=known_ops + draw(counts),
            known_ops=known_ops,
            moved_bytes=known_bytes + draw(counts),
            known_bytes=known_bytes,
            unknown=draw(st.dictionaries(texts, counts, max_size=2)),
            assumptions=tuple(draw(st.lists(texts, max_size=2))),
        ),
        resized=tuple(draw(st.lists(resized, max_size=2))),
        computed_size=draw(st.none() | st.builds(ComputedSize, counts, counts, counts, counts)),
        measured=draw(st.none() | measured(slots, calls)),
    )


@st.composite
def components(draw: st.DrawFn, slot: str, calls: tuple[Call, ...]) -> Component:
    own = [call for call in calls if call.component == slot]
    return Component(
        slot,
        *(draw(texts) for _ in range(3)),
        *(draw(counts) for _ in range(3)),
        calls=len(own),
        work=sum((call.work for call in own), NO_WORK),
        peak_live_bytes=draw(counts),
        modules=tuple(draw(st.lists(st.builds(Module, texts, texts, counts), max_size=2))),
    )
