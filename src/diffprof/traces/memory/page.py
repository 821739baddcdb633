"""A memory snapshot as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.render import numbers
from diffprof.render.charts.style import GREY, amount_axis, escape, graph_objects, make_chart, numbered_axis
from diffprof.render.report.html_table import html_table
from diffprof.render.report.lead import card_row
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, labelled_list, paragraph
from diffprof.traces.memory.explain import DeviceSnapshot, MemoryShare
from diffprof.traces.memory.views import device_lines, share_columns
from diffprof.version import __version__

TOP = 15


def snapshot_html(devices: Sequence[DeviceSnapshot], name: str) -> str:
    """The whole page."""
    page = Page(f"{name}: memory")
    for device in devices:
        heading = f"Device {device.device}"
        page.add(heading, labelled_list(device_lines(device)[1:]))
        for what, shares in (("Owners", device.owners), ("Modules", device.modules), ("Lines of code", device.lines)):
            table = html_table(share_columns(what.lower().removesuffix("s"), shares, device.peak_bytes, TOP))
            label = f"{what} of the memory of {heading.lower()} at its peak"
            page.add(f"{what}, {heading.lower()}", _chart(page, shares, label) if what == "Owners" else Markup(), table)
    header = [
        paragraph("diffprof memory", "made-by"),
        element("h1", name),
        paragraph(_lead(devices), "lead"),
        _cards(devices),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _lead(devices: Sequence[DeviceSnapshot]) -> str:
    if not devices:
        return "The snapshot has no memory of any device in it."
    most = max(devices, key=lambda device: device.peak_bytes)
    if not most.owners or not most.peak_bytes:
        return f"{numbers.gigabytes(most.peak_bytes, brief=True)} were allocated on device {most.device}."
    owner = most.owners[0]
    share = numbers.percent(owner.held_bytes / most.peak_bytes)
    peak = f"{numbers.gigabytes(most.peak_bytes, brief=True)} on device {most.device} at the peak"
    return f"{peak}, {share} of it held by {owner.name}."


def _cards(devices: Sequence[DeviceSnapshot]) -> Markup:
    values = [
        card
        for device in devices
        for card in (
            (numbers.gigabytes(device.peak_bytes, brief=True), f"allocated at the peak of device {device.device}"),
            (numbers.gigabytes(device.reserved_bytes, brief=True), "reserved at the end"),
            (numbers.gigabytes(device.unused_bytes, brief=True), "reserved and not in use"),
            (numbers.gigabytes(device.largest_free_bytes, brief=True), "in the largest free block"),
        )
    ]
    return card_row(values)


def _chart(page: Page, shares: Sequence[MemoryShare], label: str) -> Markup:
    rows = shares[:TOP]
    if len(rows) < 2:
        return Markup()
    bar = graph_objects().Bar(
        orientation="h",
        y=list(range(len(rows))),
        x=[row.held_bytes for row in rows],
        marker={"color": GREY},
        hovertext=[f"{escape(row.name)}: {numbers.both_bytes(row.held_bytes)}" for row in rows],
        hoverinfo="text",
    )
    names = numbered_axis([escape(row.name, 40) for row in rows])
    chart = make_chart([bar], 30 * len(rows) + 70, xaxis=amount_axis("memory at the peak", "B"), yaxis=names)
    return page.chart(chart, label)
