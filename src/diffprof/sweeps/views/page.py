"""A sweep as one self-contained HTML page."""

from __future__ import annotations

from diffprof.render import numbers
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import element
from diffprof.render.report.page import Page, paragraph
from diffprof.sweeps.records import Row, SweepResult
from diffprof.sweeps.views.charts import AMOUNTS, sweep_chart
from diffprof.sweeps.views.tables import columns_for_page, sweep_blocks
from diffprof.version import __version__

MAX_ROWS = 2_000
"""More rows make a page slow to scroll."""


def sweep_html(result: SweepResult) -> str:
    """The whole page: charts, the table, and failures."""
    page = Page(f"Sweep of {', '.join(result.sweep.models)}")
    charts = {
        title: page.chart(sweep_chart(result, amount), f"{title} over what was varied")
        for amount, title in AMOUNTS.items()
    }
    page.add("Charts", page.tabs("charts", charts))
    for block in sweep_blocks(result, MAX_ROWS, columns_for_page):
        lines = [paragraph(line) for line in block.lines]
        page.add(block.title, *lines, *([html_table(block.columns)] if block.columns else []),
                 *(paragraph(line, "note") for line in block.after))  # fmt: skip
    header = [
        paragraph("diffprof sweep", "made-by"),
        element("h1", ", ".join(result.sweep.models)),
        paragraph(_lead(result), "lead"),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _lead(result: SweepResult) -> str:
    """A sentence with the number of points, and the shortest and longest time."""
    failed = f", {numbers.times(len(result.failures), 'request')} failed" if result.failures else ""
    points = f"{numbers.times(len(result.rows), 'point')}{failed}"
    timed = [row for row in result.rows if row.seconds is not None]
    if len(timed) > 1:
        quickest, slowest = (choose(timed, key=lambda row: row.seconds or 0.0) for choose in (min, max))
        return f"{points}: from {_time(quickest)} to {_time(slowest)}."
    return f"{points}."


def _time(row: Row) -> str:
    size = f" at {row.width} x {row.height}" if row.width and row.height else ""
    device = f" on {row.gpu}" if row.gpu else ""
    return f"{numbers.estimate(row.seconds or 0.0)} ({row.model}{size}{device})"
