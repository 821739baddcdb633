"""A memory snapshot as text, Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown
from diffprof.render.columns import Column, fit_columns, print_table
from diffprof.render.console import print_lines
from diffprof.render.csv import table_csv
from diffprof.traces.memory.explain import DeviceSnapshot, FailedAllocation, MemoryShare

if TYPE_CHECKING:
    from rich.console import Console


MAX_STACKS = 3
SEPARATOR = " < "


def print_snapshot(devices: Sequence[DeviceSnapshot], console: Console, top: int) -> None:
    """Print the memory of each device, and its owners."""
    if not devices:
        console.print("The snapshot holds no device memory.")
    for device in devices:
        print_lines(device_lines(device), console)
        for heading, shares in _tables(device).items():
            print_table(fit_columns(share_columns(heading, shares, device.peak_bytes, top), console.width), console)
            console.print()
        _print_stacks(device, console, top)


def _tables(device: DeviceSnapshot) -> dict[str, Sequence[MemoryShare]]:
    return {"owner": device.owners, "module": device.modules, "line of code": device.lines}


def snapshot_markdown(devices: Sequence[DeviceSnapshot], top: int) -> str:
    """The memory of each device as Markdown, for an issue."""
    blocks = [] if devices else [Block("The snapshot holds no device memory.")]
    for device in devices:
        (_, number), *lines = device_lines(device)
        blocks.append(Block(f"Device {number}", [f"{label}: {line}" for label, line in lines]))
        for heading, shares in _tables(device).items():
            blocks.append(Block(columns=share_columns(heading, shares, device.peak_bytes, top)))
    return markdown(blocks)


def snapshot_csv(devices: Sequence[DeviceSnapshot]) -> str:
    """The memory at the peak as CSV: by owner, by module and by line of code."""
    rows = [
        {"device": device.device, "by": heading.replace(" ", "_"), **asdict(share)}
        for device in devices
        for heading, shares in _tables(device).items()
        for share in shares
    ]
    return table_csv(("device", "by", "name", "held_bytes", "allocations"), rows)


def _print_stacks(device: DeviceSnapshot, console: Console, top: int) -> None:
    """Print the largest allocations with their stacks."""
    for share in device.stacks[: min(top, MAX_STACKS)]:
        if SEPARATOR in share.name:
            console.print(f"{numbers.gigabytes(share.held_bytes)} at the peak by", markup=False, highlight=False)
            for line in share.name.split(SEPARATOR):
                console.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)


def snapshot_json(devices: Sequence[DeviceSnapshot]) -> str:
    """The explained snapshot as JSON."""
    return json.dumps({"unit": "bytes", "devices": [asdict(device) for device in devices]}, indent=2) + "\n"


def device_lines(device: DeviceSnapshot) -> list[tuple[str, str]]:
    """Labelled lines about the memory of a device."""
    size = numbers.gigabytes
    peak = f"{size(device.peak_bytes)} allocated at the peak"
    if not device.has_history:
        peak = (
            f"{size(device.peak_bytes)} allocated when it was taken; the peak is not known, because no history was "
            "recorded (diffprof run --memory-snapshot does)"
        )
    reserved = (
        f"{size(device.reserved_bytes)} reserved at the end, of which {size(device.allocated_bytes)} are allocated and "
        f"{size(device.unused_bytes)} are not; the largest free block has {size(device.largest_free_bytes)}"
    )
    failures = [("Failed", _describe_failure(failure, device)) for failure in device.failures]
    return [("Device", str(device.device)), ("Peak", peak), ("Reserved", reserved), *failures]


def _describe_failure(failure: FailedAllocation, device: DeviceSnapshot) -> str:
    size = numbers.gigabytes
    left = "" if failure.free_bytes is None else f" while the driver had {size(failure.free_bytes)} left"
    fragmented = device.unused_bytes >= failure.requested_bytes > device.largest_free_bytes
    why = (
        f"; {size(device.unused_bytes)} were reserved and free, but in pieces: set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        if fragmented
        else ""
    )
    held = f", with {size(failure.allocated_bytes)} allocated"
    before = ", ".join(f"{size(one.held_bytes)} by {one.name}" for one in failure.before)
    return (
        f"{size(failure.requested_bytes)} were asked for by {failure.line} in {failure.module}{held}{left}{why}"
        f"{f'. Allocated just before: {before}' if before else ''}"
    )


def share_columns(heading: str, shares: Sequence[MemoryShare], whole: int, top: int) -> list[Column]:
    """The columns of a table of shares of the peak."""
    rows = shares[:top]
    return [
        Column(heading, [share.name for share in rows], justify="left", least=20),
        Column("at the peak", [numbers.gigabytes(share.held_bytes) for share in rows]),
        Column("share", [numbers.percent(share.held_bytes / whole) if whole else "" for share in rows]),
        Column("allocations", [numbers.exact(share.allocations) for share in rows], rank=1),
    ]
