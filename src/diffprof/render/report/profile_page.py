"""The report of one profile: the cost, the findings, where the cost goes, and how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from diffprof.breakdown.memory_peaks import memory_moments, memory_table
from diffprof.breakdown.operations import OperationRow, operation_table
from diffprof.record.profile import Profile
from diffprof.render import charts, numbers
from diffprof.render.charts import Measure
from diffprof.render.charts.style import component_colours
from diffprof.render.columns import Column
from diffprof.render.device_tables import device_columns, rank_columns
from diffprof.render.headline import composition, headline, size_changes, stage_lines, summary
from diffprof.render.report.finding_list import findings_list
from diffprof.render.report.hardware import add_hardware
from diffprof.render.report.html_table import html_table, profile_html_table
from diffprof.render.report.lead import cards, lead
from diffprof.render.report.markup import Markup, element, join
from diffprof.render.report.page import Page, details, labelled_list, paragraph
from diffprof.render.report.pictures import MAX_BYTES, embedded_image
from diffprof.render.report.request import environment_html, request_html
from diffprof.render.run_sentences import device_line, note_lines, speed_lines, step_lines
from diffprof.render.run_tables import (
    cache_columns,
    component_columns,
    memory_columns,
    move_columns,
    peak_columns,
    section_columns,
    step_columns,
)
from diffprof.render.shapes import shapes_text
from diffprof.render.table_names import ProfileTable

TOP = 25
TABS = {Measure.time: "by time", Measure.macs: "by MACs", Measure.parameters: "by parameters"}
"""The tabs of the components chart; the tab by time exists only for a measured run."""


def profile_html(profile: Profile, image: Path | None = None) -> str:
    """The whole page, with the image that was generated if there is one."""
    page = Page(headline(profile))
    if image is not None:
        page.add("The result", embedded_image(image.name, image, MAX_BYTES), link="Result")
    _add_findings(page, profile)
    _add_components(page, profile)
    _add_steps(page, profile)
    if profile.measured is None:
        add_hardware(page, profile)  # early on the page: the next question about a run that was not measured
    _add_time(page, profile)
    _add_memory(page, profile)
    _add_caches_and_moves(page, profile)
    _add_work(page, profile)
    if profile.measured is not None:
        add_hardware(page, profile)
    _add_ledger_and_request(page, profile)
    about = device_line(profile, profile.measured.device) if profile.measured else composition(profile)
    header = [
        paragraph("diffprof report", "made-by"),
        element("h1", headline(profile)),
        paragraph(about, "about"),
        paragraph(lead(profile), "lead"),
        cards(profile),
    ]
    return page.html(header, f"Made with diffprof {profile.environment.diffprof}. 1 MAC = 2 FLOPs.")


def _add_findings(page: Page, profile: Profile) -> None:
    notices = [paragraph(line, "changed") for line in size_changes(profile)]
    if profile.measured is None:
        page.add("What to know", *notices)
        return
    page.add("Findings", *notices, findings_list(profile))


def components_tabs(page: Page, profile: Profile, what: str = "") -> Markup:
    """Charts of the components by time (if it was measured), by MACs and by parameters."""
    return page.tabs(
        "What the size of a block is",
        {
            name: page.chart(charts.components_chart(profile, by), f"Components{what} and their modules, {name}")
            for by, name in TABS.items()
        },
    )


def _add_components(page: Page, profile: Profile) -> None:
    page.add(
        "Where the cost goes",
        paragraph(
            "Click a block to zoom in and the bar above to zoom out. Equal neighbours are one block.", "note screen"
        ),
        components_tabs(page, profile),
        profile_html_table(profile, ProfileTable.component, total=True),
        details("Calls of the components", profile_html_table(profile, ProfileTable.call)),
        link="Components",
    )


def _add_steps(page: Page, profile: Profile) -> None:
    lines = step_lines(profile, ascii_only=False, with_bars=False) if profile.measured else []
    if not lines and len(profile.steps.stages) < 2 and charts.step_macs_chart(profile) is None:
        return  # all steps are equal: the card at the top says enough
    page.add(
        "Denoising steps",
        *(paragraph(line) for _, line in lines),
        *(paragraph(line) for line in stage_lines(profile) if not lines),
        page.tabs(
            "What is shown of each step",
            {
                "time": page.chart(charts.step_times_chart(profile), "Time of each denoising step"),
                "MACs": page.chart(charts.step_macs_chart(profile), "MACs of each denoising step"),
            },
        ),
        details("Steps as a table", html_table(step_columns(profile, False, with_bars=False)))
        if profile.measured
        else Markup(),
        link="Steps",
    )


def _first_lines(columns: Sequence[Column]) -> list[Column]:
    """Remove the sparklines below the names: the page has a chart instead."""
    return [replace(column, cells=[cell.split("\n")[0] for cell in column.cells]) for column in columns]


def _add_time(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    page.add(
        "Timeline of one generation",
        labelled_list(speed_lines(profile, profile.measured)),
        page.chart(charts.timeline_chart(profile), "Sections of one iteration over time"),
        html_table(section_columns(profile, False), total=True),
        link="Timeline",
    )
    page.add(
        "Time against MACs",
        paragraph("Higher is faster; the dashed line is the peak of the device.", "note"),
        page.chart(charts.rates_chart(profile), "Throughput of the components against the peak of the device"),
        html_table(component_columns(profile, False), total=True, colours=component_colours(profile)),
    )


def _add_memory(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    moments = memory_moments(profile)
    last = [moment for moment in moments if moment.iteration == moments[-1].iteration]
    page.add(
        "Memory over time",
        paragraph("Grey bands are iterations; warm-ups are paler.", "note")
        if len(profile.measured.iterations) > 1
        else Markup(),
        page.chart(charts.memory_chart(profile), "Memory of the process and the device over time"),
        _peaks(profile),
        *(html_table(table) for table in _placement_tables(profile)),
        details("Moments of the last iteration", html_table(memory_columns(last)) if last else Markup()),
        link="Memory",
    )


def _peaks(profile: Profile) -> Markup:
    """The peak memory of each part; a sentence if it is the same in all."""
    rows = memory_table(profile)
    on_device = any(row.device_peak_bytes is not None for row in rows)
    if len(rows) > 1 and not on_device and len({row.rss_peak_bytes for row in rows}) == 1:
        return paragraph(f"{numbers.gigabytes(rows[0].rss_peak_bytes)} resident at most, the same in every part.")
    return html_table(peak_columns(rows))


def _placement_tables(profile: Profile) -> list[list[Column]]:
    """The tables by device and by rank, if they have rows."""
    tables = [device_columns(profile, ascii_only=False), rank_columns(profile, ascii_only=False)]
    return [table for table in tables if table[0].cells]


def _add_caches_and_moves(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    chart = page.chart(charts.cache_chart(profile), "Hits of each cache over the denoising steps")
    page.add("Caches", chart, html_table(_first_lines(cache_columns(profile, ascii_only=True))))
    moved = page.chart(charts.moves_chart(profile), "Weights moved in each denoising step")
    page.add("Weights moved", moved, html_table(move_columns(profile, ascii_only=True)), link="Moves")


def _add_work(page: Page, profile: Profile) -> None:
    page.add(
        "Kinds of work",
        page.chart(charts.kinds_chart(profile), "Kinds of work by MACs and by bytes"),
        details("Kinds as a table", profile_html_table(profile, ProfileTable.kind)),
    )
    page.add(
        "Attention",
        page.chart(charts.attention_chart(profile), "Attention by layer"),
        details("All attention layers", profile_html_table(profile, ProfileTable.attention)),
    )
    rows = operation_table(profile)
    page.add(
        "Top operations",
        paragraph(f"The first {TOP} of {numbers.exact(len(rows))}, by MACs.", "note") if len(rows) > TOP else Markup(),
        html_table(_operations(rows[:TOP]), colours=component_colours(profile)),
        link="Operations",
    )


def _operations(rows: Sequence[OperationRow]) -> list[Column]:
    return [
        Column("operation", [f"{row.operation}\n{shapes_text(row.shapes)}" for row in rows], justify="left"),
        Column("MACs", [numbers.short(row.macs, brief=True) for row in rows]),
        Column(
            "share of MACs",
            [numbers.percent(row.share) for row in rows],
            justify="left",
            shares=[row.share for row in rows],
        ),
        Column("component", [row.component for row in rows], justify="left"),
        Column("kind", [row.kind if row.known else f"{row.kind}, no formula" for row in rows], justify="left"),
        Column("dtype", [row.dtype for row in rows], justify="left"),
        Column("times", [numbers.exact(row.executions) for row in rows]),
        Column("other FLOPs", [numbers.short(row.other_flops, brief=True) for row in rows]),
        Column("bytes", [numbers.gigabytes(row.read_bytes + row.written_bytes, brief=True) for row in rows]),
    ]


def _add_ledger_and_request(page: Page, profile: Profile) -> None:
    page.add(
        "What was counted, and what was assumed",
        labelled_list(summary(profile, verbose=True)),
        link="Trust",
    )
    notes = labelled_list(note_lines(profile, profile.measured)) if profile.measured else Markup()
    page.add("Request and environment", join(request_html(profile), notes, environment_html(profile)), link="Request")
