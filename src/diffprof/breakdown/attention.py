"""The attention of a generation by site: tokens, heads, and the cost of QKᵀ, softmax and AV."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffprof.breakdown.shares import share
from diffprof.record.profile import AttentionSite, Profile


@dataclass(frozen=True)
class AttentionRow:
    """One attention site of a component, with the sum of its executions."""

    component: str
    site: AttentionSite
    executions: int
    qk_macs: int
    softmax_flops: int
    av_macs: int
    macs: int
    share: float
    """Share of the generation's MACs."""


def attention_table(profile: Profile) -> list[AttentionRow]:
    """One row for each component and site, the costliest first."""
    rows: dict[tuple[str, AttentionSite], AttentionRow] = {}
    for call, times in profile.costs():
        for item in call.cost.attention:
            row = AttentionRow(
                component=call.component,
                site=item.site,
                executions=item.count * times,
                qk_macs=item.qk_macs * times,
                softmax_flops=item.softmax_flops * times,
                av_macs=item.av_macs * times,
                macs=item.macs * times,
                share=0.0,
            )
            key = (row.component, row.site)
            rows[key] = _sum(rows[key], row) if key in rows else row
    whole = profile.total.macs
    ordered = sorted(rows.values(), key=lambda row: (-row.macs, row.component, row.site.module))
    return [replace(row, share=share(row.macs, whole)) for row in ordered]


def _sum(one: AttentionRow, other: AttentionRow) -> AttentionRow:
    return replace(
        one,
        executions=one.executions + other.executions,
        qk_macs=one.qk_macs + other.qk_macs,
        softmax_flops=one.softmax_flops + other.softmax_flops,
        av_macs=one.av_macs + other.av_macs,
        macs=one.macs + other.macs,
    )
