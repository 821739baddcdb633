"""The operations of a generation; equal operations share a row."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.breakdown.shares import share
from diffprof.record.profile import NO_WORK, Operation, Profile, Work
from diffprof.record.tensors import OperationShapes

_Key = tuple[str, str, str, OperationShapes, str, bool]


@dataclass(frozen=True)
class OperationRow:
    """One operation with one set of shapes in one component, with the sum of its executions."""

    component: str
    operation: str
    kind: str
    shapes: OperationShapes
    dtype: str
    executions: int
    macs: int
    other_flops: int
    read_bytes: int
    written_bytes: int
    known: bool
    """Whether there is a formula for it."""
    share: float
    """Share of the generation's MACs."""
    bytes_share: float
    """Share of the bytes that all operations of the generation read and write."""


def operation_table(profile: Profile) -> list[OperationRow]:
    """One row for each operation, sorted by MACs, then by bytes, the largest first."""
    work: dict[_Key, Work] = {}
    executions: dict[_Key, int] = {}
    for call, times in profile.costs():
        for operation in call.cost.operations:
            key = _key(call.component, operation)
            work[key] = work.get(key, NO_WORK) + operation.work * times
            executions[key] = executions.get(key, 0) + operation.count * times
    moved = sum(done.moved_bytes for done in work.values())
    order = sorted(work, key=lambda key: (-work[key].macs, -work[key].moved_bytes, key))
    return [_row(key, executions[key], work[key], profile.total.macs, moved) for key in order]


def _key(component: str, operation: Operation) -> _Key:
    return component, operation.name, operation.kind, operation.shapes, operation.dtype, operation.known


def _row(key: _Key, executions: int, work: Work, macs: int, moved: int) -> OperationRow:
    component, operation, kind, shapes, dtype, known = key
    return OperationRow(
        component=component,
        operation=operation,
        kind=kind,
        shapes=shapes,
        dtype=dtype,
        executions=executions,
        macs=work.macs,
        other_flops=work.other_flops,
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        known=known,
        share=share(work.macs, macs),
        bytes_share=share(work.moved_bytes, moved),
    )
