"""Throughput: what each component achieved, and the peak of the device (a roofline)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diffprof.breakdown.throughput import ThroughputRow, throughput_table
from diffprof.catalogue.accelerators import match_accelerator
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import GREY, component_colours, escape, graph_objects, join_lines, make_chart
from diffprof.render.dtypes import describe_mix

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def rates_chart(profile: Profile) -> Figure | None:
    """FLOP/s over FLOPs per byte, below the peak of the device; larger points took more time."""
    rows = [row for row in throughput_table(profile) if row.flops_per_second and row.flops_per_byte]
    if not rows or profile.measured is None:
        return None
    device = profile.measured.device
    known = device.peak_flops_per_second
    peaks = {dtype: known[dtype] for dtype in dict.fromkeys(row.dtype for row in rows) if known.get(dtype)}
    accelerator = match_accelerator(device.name, memory_bytes=device.memory_bytes)
    bandwidth = accelerator.bandwidth_bytes_per_second if accelerator else None
    # The ridge point: to the left of it, memory bandwidth limits the FLOP/s.
    ridges = [peak / bandwidth for peak in peaks.values()] if bandwidth else []
    across = _decades([row.flops_per_byte or 1 for row in rows] + ridges)
    upwards = _decades([row.flops_per_second or 1 for row in rows] + list(peaks.values()))
    roofs = [_roof(dtype, peak, bandwidth, across) for dtype, peak in peaks.items()]
    return make_chart(
        [*roofs, _component_points(profile, rows)], 400,
        xaxis=_log_axis("FLOPs per byte read or written", across),
        yaxis={**_log_axis("achieved", upwards), "tickformat": "~s", "ticksuffix": "FLOP/s"},
    )  # fmt: skip


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around the values, and a little more so that the last one is labelled."""
    return math.floor(math.log10(min(values)) - 0.1), math.ceil(math.log10(max(values)) + 0.1) + 0.1


def _log_axis(title: str, decades: tuple[float, float]) -> dict[str, Any]:
    return {"type": "log", "title": {"text": title}, "range": list(decades), "dtick": 1, "tickformat": "~g"}


def _roof(dtype: str, peak: float, bandwidth: float | None, across: tuple[float, float]) -> Any:
    """The roofline: the peak, and the slope of the memory bandwidth if it is known."""
    left, right = 10.0 ** across[0], 10.0 ** across[1]
    ridge = peak / bandwidth if bandwidth else left
    points = sorted({left, min(max(ridge, left), right), right})
    reached = [min(peak, point * bandwidth) if bandwidth else peak for point in points]
    return graph_objects().Scatter(
        name=f"peak in {escape(dtype)}: {numbers.flops_per_second(peak)}",
        x=points,
        y=reached,
        mode="lines",
        line={"dash": "dash", "width": 2, "color": GREY},
        hoverinfo="name",
    )


def _component_points(profile: Profile, rows: Sequence[ThroughputRow]) -> Any:
    colours = component_colours(profile)
    return graph_objects().Scatter(
        name="components",
        showlegend=False,
        x=[row.flops_per_byte for row in rows],
        y=[row.flops_per_second for row in rows],
        mode="markers+text",
        text=[escape(row.component, 24) for row in rows],
        textposition="bottom center",
        cliponaxis=False,
        marker={
            "size": [12 + 28 * math.sqrt(min(row.share, 1)) for row in rows],
            "color": [colours.get(row.component, GREY) for row in rows],
            "line": {"width": 0},
            "opacity": 1,  # the colour of the component, which plotly would make paler
        },
        hovertext=[_rate_tooltip(row) for row in rows],
        hoverinfo="text",
    )


def _rate_tooltip(row: ThroughputRow) -> str:
    mix = describe_mix(row.macs_by_dtype) or row.dtype
    return join_lines(
        f"<b>{escape(row.component)}</b>",
        numbers.flops_per_second(row.flops_per_second or 0),
        "" if row.peak_share is None else f"{numbers.percent_of(row.peak_share)} of the peak in {escape(mix)}",
        f"{numbers.significant(row.flops_per_byte or 0)} FLOPs per byte",
        f"{numbers.nanoseconds(row.median_ns)}, {numbers.percent(row.share)} of the time",
        "" if row.macs is None else numbers.macs(row.macs),
    )
