"""The kinds of work in a generation: linear layers, convolutions, attention, norms..."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.breakdown.shares import share
from diffprof.record.profile import NO_WORK, Profile, Work

ATTENTION = "attention"
RELATIONS = ("self", "cross", "joint")


@dataclass(frozen=True)
class KindRow:
    """One kind of work in the whole generation."""

    kind: str
    part_of: str | None
    """The kind that this row is a part of (``attention`` for self, cross and joint); None for a whole kind."""
    executions: int
    macs: int
    other_flops: int
    read_bytes: int | None
    """None if bytes are known only for the kind as a whole."""
    written_bytes: int | None
    share: float
    """Share of the generation's MACs."""


def kind_table(profile: Profile) -> list[KindRow]:
    """One row for each kind, the one with the most MACs first; attention is followed by self, cross and joint."""
    executions: dict[str, int] = {}
    work: dict[str, Work] = {}
    for call, times in profile.costs():
        for operation in call.cost.operations:
            kind = operation.kind
            executions[kind] = executions.get(kind, 0) + operation.count * times
            work[kind] = work.get(kind, NO_WORK) + operation.work * times
    rows: list[KindRow] = []
    # Ties are sorted by name, so that the order does not depend on what ran first.
    for kind in sorted(work, key=lambda kind: (-work[kind].macs, -work[kind].other_flops, kind)):
        rows.append(_row(kind, executions[kind], work[kind], profile.total.macs))
        if kind == ATTENTION:
            rows += _relation_rows(profile)
    return rows


def _row(kind: str, executions: int, work: Work, whole: int) -> KindRow:
    return KindRow(
        kind=kind,
        part_of=None,
        executions=executions,
        macs=work.macs,
        other_flops=work.other_flops,
        read_bytes=work.read_bytes,
        written_bytes=work.written_bytes,
        share=share(work.macs, whole),
    )


def _relation_rows(profile: Profile) -> list[KindRow]:
    executions: dict[str, int] = {}
    macs: dict[str, int] = {}
    softmax: dict[str, int] = {}
    for call, times in profile.costs():
        for item in call.cost.attention:
            executions[item.relation] = executions.get(item.relation, 0) + item.count * times
            macs[item.relation] = macs.get(item.relation, 0) + item.macs * times
            softmax[item.relation] = softmax.get(item.relation, 0) + item.softmax_flops * times
    known = [relation for relation in RELATIONS if relation in macs]
    return [
        KindRow(
            kind=relation,
            part_of=ATTENTION,
            executions=executions[relation],
            macs=macs[relation],
            other_flops=softmax[relation],
            read_bytes=None,
            written_bytes=None,
            share=share(macs[relation], profile.total.macs),
        )
        for relation in [*known, *sorted(set(macs) - set(known))]
    ]
