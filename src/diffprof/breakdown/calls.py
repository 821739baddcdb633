"""The calls of the pipeline's components; equal calls share a row."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.breakdown.shares import share
from diffprof.record.profile import Call, Profile
from diffprof.record.tensors import TensorInput


@dataclass(frozen=True)
class CallRow:
    """Calls of one component with the same method, input shapes and cost."""

    component: str
    method: str
    inputs: tuple[TensorInput, ...]
    count: int
    steps: tuple[int, ...]
    """The denoising steps of the calls; empty outside of the loop."""
    macs_per_call: int
    macs: int
    other_flops: int
    read_bytes: int
    written_bytes: int
    peak_live_bytes: int
    share: float
    """Share of the generation's MACs."""


def call_table(profile: Profile) -> list[CallRow]:
    """One row for each distinct call, ordered by first execution."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in profile.calls:
        shapes = tuple((argument.name, argument.shapes) for argument in call.inputs)
        key = (call.component, call.method, shapes, call.work, call.cost.peak_live_bytes)
        groups.setdefault(key, []).append(call)
    return [_row(calls, profile.total.macs) for calls in groups.values()]


def _row(calls: list[Call], whole: int) -> CallRow:
    first = calls[0]
    work = first.work * len(calls)
    return CallRow(
        component=first.component,
        method=first.method,
        inputs=first.inputs,
        count=len(calls),
        steps=tuple(sorted({call.step for call in calls if call.step is not None})),
        macs_per_call=first.macs,
        macs=work.macs,
        other_flops=work.other_flops,
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        peak_live_bytes=first.cost.peak_live_bytes,
        share=share(work.macs, whole),
    )
