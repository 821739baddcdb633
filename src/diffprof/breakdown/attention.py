"""Every shape of attention in a generation: tokens, heads, and what QKᵀ, softmax and AV cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffprof.breakdown.shares import share
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class AttentionRow:
    """One shape of attention at one place, all its executions together."""

    component: str
    module: str
    """Module path with running numbers replaced by ``*``."""
    relation: str
    batch: int
    query_tokens: int
    key_tokens: int
    heads: int
    key_heads: int
    head_size: int
    value_size: int
    causal: bool
    masked: bool
    executions: int
    qk_macs: int
    softmax_flops: int
    av_macs: int
    macs: int
    share: float
    """Of the generation's MACs."""


# Rows that agree in these are one row.
_SAME = (
    "component",
    "module",
    "relation",
    "batch",
    "query_tokens",
    "key_tokens",
    "heads",
    "key_heads",
    "head_size",
    "value_size",
    "causal",
    "masked",
)


def attention_table(profile: Profile) -> list[AttentionRow]:
    """One row for each component, place and shape, the costliest first."""
    rows: dict[tuple[object, ...], AttentionRow] = {}
    for call, times in profile.costs():
        for item in call.cost.attention:
            row = AttentionRow(
                component=call.component,
                module=item.module,
                relation=item.relation,
                batch=item.batch,
                query_tokens=item.query_tokens,
                key_tokens=item.key_tokens,
                heads=item.heads,
                key_heads=item.key_heads,
                head_size=item.head_size,
                value_size=item.value_size,
                causal=item.causal,
                masked=item.masked,
                executions=item.count * times,
                qk_macs=item.qk_macs * times,
                softmax_flops=item.softmax_flops * times,
                av_macs=item.av_macs * times,
                macs=item.macs * times,
                share=0.0,
            )
            key = tuple(getattr(row, name) for name in _SAME)
            rows[key] = _sum(rows[key], row) if key in rows else row
    whole = profile.total.macs
    ordered = sorted(rows.values(), key=lambda row: (-row.macs, row.component, row.module))
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
