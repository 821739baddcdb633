"""The section of a report that predicts on which hardware the generation fits, and how long it takes there."""

from __future__ import annotations

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.report.html_table import html_table
from diffprof.render.report.page import Page, paragraph

TITLE = "On which hardware"
FITS = {True: "yes", False: "no", None: ""}


def add_hardware(page: Page, profile: Profile) -> None:
    """Add predictions for the usual accelerators, the fastest first; nothing if the profile lists no operations."""
    if not profile.total.macs:
        return
    from diffprof.prediction.on_accelerator import USUAL, on_accelerators

    try:
        rows = on_accelerators(profile, [find_accelerator(name) for name in USUAL])
    except RequestError:
        return  # a profile of an earlier version does not list its operations
    rows = tuple(sorted(rows, key=lambda row: row.total_seconds or 0.0))
    columns = [
        Column("accelerator", [row.accelerator for row in rows], justify="left", style="bold"),
        Column("expected time", [numbers.estimate(row.total_seconds or 0.0) for row in rows]),
        Column(
            "interval",
            [f"{numbers.estimate(row.low_seconds or 0)} to {numbers.estimate(row.high_seconds or 0)}" for row in rows],
        ),
        Column("fits", [FITS[row.fits] for row in rows], justify="left"),
    ]
    needed = rows[0].device_bytes
    memory = "" if needed is None else f"It needs about {numbers.both_bytes(needed)} of memory, as nvidia-smi shows it."
    page.add(
        TITLE,
        paragraph(f"Predicted for eager diffusers with all weights on the device. {memory}".strip()),
        html_table(columns),
        paragraph("For other devices, bottlenecks and improvements, use diffprof predict, fit and advise.", "note"),
        link="Hardware",
    )
