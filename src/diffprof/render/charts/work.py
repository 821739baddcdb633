"""What the work consists of: kinds of operations, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.kinds import KindRow, kind_table
from diffprof.breakdown.shares import share
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    COLOURS,
    ROW,
    amount_axis,
    escape,
    graph_objects,
    join_lines,
    make_chart,
    names_axis,
    numbered_axis,
    share_axis,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_ROWS = 12
LONGEST_PLACE = 34
LEAST_SHARE = 0.001


def kinds_chart(profile: Profile) -> Figure | None:
    """Each kind of work by its share of MACs and of bytes: norms have no MACs but still take time."""
    rows = sorted(
        (row for row in kind_table(profile) if row.part_of is None), key=lambda row: (-row.macs, -_moved_bytes(row))
    )
    moved = sum(_moved_bytes(row) for row in rows)
    rows = [row for row in rows if max(row.share, share(_moved_bytes(row), moved)) >= LEAST_SHARE][:MOST_ROWS]
    if not rows:
        return None
    names = [escape(row.kind) for row in rows]
    bars = [
        graph_objects().Bar(
            name="share of MACs",
            y=names,
            x=[row.share for row in rows],
            hovertext=[_about_kind(row, f"{numbers.macs(row.macs)}, {numbers.percent(row.share)}") for row in rows],
        ),
        graph_objects().Bar(
            name="share of bytes read and written",
            y=names,
            x=[share(_moved_bytes(row), moved) for row in rows],
            hovertext=[
                _about_kind(
                    row, f"{numbers.gigabytes(_moved_bytes(row))}, {numbers.percent(share(_moved_bytes(row), moved))}"
                )
                for row in rows
            ],
        ),
    ]
    for bar in bars:
        bar.update(orientation="h", hoverinfo="text")
    return make_chart(
        bars, ROW * len(rows) + 110, barmode="group", xaxis=share_axis("share of the generation"), yaxis=names_axis()
    )


def _moved_bytes(row: KindRow) -> int:
    return (row.read_bytes or 0) + (row.written_bytes or 0)


def _about_kind(row: KindRow, size: str) -> str:
    return join_lines(
        f"<b>{escape(row.kind)}</b>",
        size,
        f"{numbers.flops(row.other_flops)} besides the MACs" if row.other_flops else "",
        numbers.times(row.executions, "execution"),
    )


def attention_chart(profile: Profile) -> Figure | None:
    """The most expensive attention layers, each with its QKᵀ and AV."""
    rows = attention_table(profile)[:MOST_ROWS]
    if not rows:
        return None
    places = [_layer_label(row) for row in rows]
    about = [_about_attention(row) for row in rows]
    parts = (("QKᵀ", [row.qk_macs for row in rows], COLOURS[0]), ("AV", [row.av_macs for row in rows], COLOURS[5]))
    bars = [
        graph_objects().Bar(
            name=name, y=list(range(len(rows))), x=macs, orientation="h", hovertext=about, hoverinfo="text",
            marker={"color": colour},
        )
        for name, macs, colour in parts
    ]  # fmt: skip
    return make_chart(
        bars, (ROW + 10) * len(rows) + 90, barmode="stack", xaxis=amount_axis("MACs"), yaxis=numbered_axis(places)
    )


def _layer_label(row: AttentionRow) -> str:
    site = row.site
    tokens = f"{numbers.exact(site.query_tokens)} x {numbers.exact(site.key_tokens)}"
    place = numbers.shorten(f"{row.component}.{site.module}", LONGEST_PLACE)
    return join_lines(
        f"{escape(site.relation)}, {tokens} tokens", f"<span style='font-size:11px'>{escape(place)}</span>"
    )


def _about_attention(row: AttentionRow) -> str:
    site = row.site
    tokens = f"{numbers.exact(site.query_tokens)} x {numbers.exact(site.key_tokens)} tokens"
    remarks = [word for word, holds in (("causal", site.causal), ("masked", site.masked)) if holds]
    return join_lines(
        f"<b>{escape(row.component)}.{escape(site.module)}</b>",
        f"{escape(site.relation)} attention{', ' + ', '.join(remarks) if remarks else ''}",
        f"{tokens}, batch {numbers.exact(site.batch)}",
        f"{numbers.times(site.heads, 'head')} of {numbers.exact(site.head_size)}",
        f"{numbers.times(row.executions, 'execution')}, {numbers.macs(row.macs)}",
        f"{numbers.percent(row.share)} of all MACs",
    )
