"""A table of the predicted memory and time of profiles on accelerators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.comparison.compare import Comparison
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column

if TYPE_CHECKING:
    from diffprof.prediction.on_accelerator import OnAccelerator

TITLE = "On which hardware"
FITS = {True: "", False: " (does not fit)", None: ""}


def hardware_blocks(comparison: Comparison) -> list[Block]:
    """A row for each accelerator and profile; nothing if no accelerator was requested."""
    rows: list[tuple[str, OnAccelerator, OnAccelerator]] = []
    for name, pair in zip(comparison.names[1:], comparison.pairs, strict=True):
        if not rows:
            rows += [(comparison.names[0], change.before, change.before) for change in pair.predictions]
        rows += [(name, change.before, change.after) for change in pair.predictions]
    if not rows:
        return []
    order = list(dict.fromkeys(after.accelerator for _, _, after in rows))
    rows.sort(key=lambda row: order.index(row[2].accelerator))
    columns = [
        Column("accelerator", [after.accelerator for _, _, after in rows], justify="left", style="bold"),
        Column("profile", [name for name, _, _ in rows], justify="left"),
        Column("memory", [_memory(after) for _, _, after in rows]),
        Column("time", [_seconds(after) for _, _, after in rows]),
        Column("change", [_change(before, after) for _, before, after in rows]),
    ]
    note = "Predicted for eager diffusers with all weights on the device; `diffprof predict` and `fit` say more."
    return [Block(TITLE, columns=columns, after=[note])]


def _memory(figures: OnAccelerator) -> str:
    return "" if figures.device_bytes is None else numbers.gibibytes(figures.device_bytes) + FITS[figures.fits]


def _seconds(figures: OnAccelerator) -> str:
    return "" if figures.total_seconds is None else numbers.estimate(figures.total_seconds)


def _change(before: OnAccelerator, after: OnAccelerator) -> str:
    if before is after or not before.total_seconds or after.total_seconds is None:
        return ""
    return numbers.change(after.total_seconds / before.total_seconds)
