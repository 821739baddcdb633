"""Charts of the kinds of work, and of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.kinds import KindRow, kind_table
from diffprof.breakdown.shares import share
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import (
    GREY,
    NEUTRAL,
    ROW,
    amount_axis,
    component_colours,
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

MAX_ROWS = 12
LONGEST_PLACE = 34
LEAST_SHARE = 0.001


def kinds_chart(profile: Profile) -> Figure | None:
    """The share of MACs and of bytes of each kind of work; norms, for example, have bytes but no MACs."""
    rows = sorted(
        (row for row in kind_table(profile) if row.part_of is None), key=lambda row: (-row.macs, -_moved_bytes(row))
    )
    moved = sum(_moved_bytes(row) for row in rows)
    rows = [row for row in rows if max(row.share, share(_moved_bytes(row), moved)) >= LEAST_SHARE][:MAX_ROWS]
    if not rows:
        return None
    names = [escape(row.kind) for row in rows]
    bars = [
        graph_objects().Bar(
            name="share of MACs",
            marker={"color": NEUTRAL[0]},
            y=names,
            x=[row.share for row in rows],
            hovertext=[_kind_tooltip(row, f"{numbers.macs(row.macs)}, {numbers.percent(row.share)}") for row in rows],
        ),
        graph_objects().Bar(
            name="share of bytes read and written",
            marker={"color": NEUTRAL[1]},
            y=names,
            x=[share(_moved_bytes(row), moved) for row in rows],
            hovertext=[
                _kind_tooltip(
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


def _kind_tooltip(row: KindRow, size: str) -> str:
    return join_lines(
        f"<b>{escape(row.kind)}</b>",
        size,
        f"{numbers.flops(row.other_flops)} besides the MACs" if row.other_flops else "",
        numbers.times(row.executions, "execution"),
    )


def attention_chart(profile: Profile) -> Figure | None:
    """The most expensive attention layers, in the colours of their components."""
    rows = attention_table(profile)[:MAX_ROWS]
    if not rows:
        return None
    names = distinct_names([f"{row.component}.{row.site.module}" for row in rows])
    places = [_layer_label(row, name) for row, name in zip(rows, names, strict=True)]
    about = [_attention_tooltip(row) for row in rows]
    colours = component_colours(profile)
    slots = dict.fromkeys(row.component for row in rows)
    bars = [
        graph_objects().Bar(
            name=escape(slot),
            y=[place for place, row in enumerate(rows) if row.component == slot],
            x=[row.macs for row in rows if row.component == slot],
            orientation="h",
            hovertext=[text for text, row in zip(about, rows, strict=True) if row.component == slot],
            hoverinfo="text",
            marker={"color": colours.get(slot, GREY)},
        )
        for slot in slots
    ]
    return make_chart(
        bars, (ROW + 10) * len(rows) + 90, showlegend=len(bars) > 1, xaxis=amount_axis("MACs"),
        yaxis=numbered_axis(places),
    )  # fmt: skip


def distinct_names(names: Sequence[str]) -> list[str]:
    """Shorten long names in the middle, unless two different names would become the same."""
    shortened = [_without_middle(name) for name in names]
    full = {
        short: {name for name, other in zip(names, shortened, strict=True) if other == short} for short in shortened
    }
    return [name if len(full[short]) > 1 else short for name, short in zip(names, shortened, strict=True)]


def _without_middle(name: str) -> str:
    """``unet.up_blocks.*…attn1``: the last part, and as many of the first parts as fit."""
    if len(name) <= LONGEST_PLACE:
        return name
    half = LONGEST_PLACE // 2
    if name.count(".") < 2:
        return f"{name[:half]}…{name[-half:]}"
    first, *middle, last = name.split(".")
    kept = ""
    for part in middle:
        if len(first) + len(kept) + len(part) + len(last) + 2 > LONGEST_PLACE:
            break
        kept += f".{part}"
    return f"{first}{kept}…{last}"


def _layer_label(row: AttentionRow, place: str) -> str:
    site = row.site
    tokens = f"{numbers.exact(site.query_tokens)} x {numbers.exact(site.key_tokens)}"
    return join_lines(
        f"{escape(site.relation)}, {tokens} tokens", f"<span style='font-size:11px'>{escape(place)}</span>"
    )


def _attention_tooltip(row: AttentionRow) -> str:
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
