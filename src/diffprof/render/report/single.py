"""The report of one profile: what it costs, what stands out, then where it goes, and last how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffprof.breakdown.memory import memory_moments, memory_table
from diffprof.breakdown.operations import OperationRow, operation_table
from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render import charts as figures
from diffprof.render import numbers
from diffprof.render.charts import Measure
from diffprof.render.columns import Column
from diffprof.render.console import composition
from diffprof.render.findings import finding_lines
from diffprof.render.headline import headline, summary
from diffprof.render.report.conditions import environment, request
from diffprof.render.report.lead import cards, lead
from diffprof.render.report.markup import Markup, element, together
from diffprof.render.report.page import Page, folded, labelled, paragraph
from diffprof.render.report.tables import table
from diffprof.render.run_sentences import closing, opening, step_lines, where_it_ran
from diffprof.render.run_views import (
    cache_columns,
    component_columns,
    memory_columns,
    move_columns,
    peak_columns,
    section_columns,
    step_columns,
)
from diffprof.render.views import By, view_of

WIDE = 10_000
"""For tables that a page can scroll."""
TOP = 25
TABS = {Measure.macs: "by MACs", Measure.parameters: "by parameters", Measure.time: "by time"}


def profile_html(profile: Profile) -> str:
    """The whole page."""
    page = Page(headline(profile))
    _findings(page, profile)
    _components(page, profile)
    _steps(page, profile)
    _time(page, profile)
    _memory(page, profile)
    _caches_and_moves(page, profile)
    _work(page, profile)
    _trust(page, profile)
    about = where_it_ran(profile, profile.measured.device) if profile.measured else composition(profile)
    header = [
        paragraph("diffprof report", "made-by"),
        element("h1", headline(profile)),
        paragraph(about, "about"),
        paragraph(lead(profile), "lead"),
        cards(profile),
    ]
    return page.html(header, f"Made with diffprof {profile.environment.diffprof}. 1 MAC = 2 FLOPs.")


def _findings(page: Page, profile: Profile) -> None:
    changed = [line for label, line in summary(profile, verbose=True) if label == "Changed"]
    notices = [paragraph(line, "changed") for line in changed]
    if profile.measured is None:
        page.add("What to know", *notices)
        return
    found = [finding_lines(finding) for finding in findings(profile)]
    items = [
        element(
            "li",
            element("b", one.title),
            element("span", one.evidence, class_="evidence") if one.evidence else Markup(),
            element("span", one.advice) if one.advice else Markup(),
        )
        for one in found
    ]
    listed = element("ol", *items, class_="findings") if items else paragraph("Nothing stands out.")
    page.add("Findings", *notices, listed)


def components_tabs(page: Page, profile: Profile, what: str = "") -> Markup:
    """The components by everything that they can be measured by."""
    return page.tabs(
        "What the size of a block is",
        {
            name: page.figure(figures.components_figure(profile, by), f"Components{what} and their modules, {name}")
            for by, name in TABS.items()
        },
    )


def _components(page: Page, profile: Profile) -> None:
    page.add(
        "Where the cost goes",
        paragraph(
            "Click a block to look into it, and the bar above to go back. Equal neighbours are one block.", "note"
        ),
        components_tabs(page, profile),
        table(view_of(profile, By.component, 0, WIDE).columns, total=True),
        folded("Calls of the components", table(view_of(profile, By.call, 0, WIDE).columns)),
        link="Components",
    )


def _steps(page: Page, profile: Profile) -> None:
    lines = step_lines(profile, ascii_only=False) if profile.measured else []
    counted = [line for label, line in summary(profile) if label == "Steps"]
    page.add(
        "Denoising steps",
        *(paragraph(line) for label, line in lines if label),
        *(paragraph(line) for line in counted if not lines),
        page.tabs(
            "What is shown of each step",
            {
                "time": page.figure(figures.step_times_figure(profile), "Time of each denoising step"),
                "MACs": page.figure(figures.step_macs_figure(profile), "MACs of each denoising step"),
            },
        ),
        folded("Steps as a table", table(_without_bars(step_columns(profile, False))))
        if profile.measured
        else Markup(),
        link="Steps",
    )


def _first_lines(columns: Sequence[Column]) -> list[Column]:
    """Without the row of bars below a name, for which a page has a figure."""
    return [replace(column, cells=[cell.split("\n")[0] for cell in column.cells]) for column in columns]


def _without_bars(columns: Sequence[Column]) -> list[Column]:
    """A page has a figure for what the console shows by bars alone."""
    return [column for column in columns if column.name != "compared"]


def _time(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    page.add(
        "Time line of one generation",
        labelled(opening(profile, profile.measured)),
        page.figure(figures.timeline_figure(profile), "Sections of one iteration over time"),
        table(section_columns(profile, False), total=True),
        link="Time line",
    )
    page.add(
        "Time against MACs",
        paragraph("Higher is faster; the dashed line is the most that the device can do.", "note"),
        page.figure(figures.rates_figure(profile), "What components achieved against the device's peak"),
        table(component_columns(profile, False), total=True),
    )


def _memory(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    moments = memory_moments(profile)
    last = [moment for moment in moments if moment.iteration == moments[-1].iteration]
    page.add(
        "Memory over time",
        paragraph("Grey bands are iterations, paler ones warm-ups.", "note"),
        page.figure(figures.memory_figure(profile), "Memory of the process and the device over time"),
        table(peak_columns(memory_table(profile))),
        folded("Moments of the last iteration", table(memory_columns(last)) if last else Markup()),
        link="Memory",
    )


def _caches_and_moves(page: Page, profile: Profile) -> None:
    if profile.measured is None:
        return
    drawn = page.figure(figures.cache_figure(profile), "Hits of each cache over the denoising steps")
    page.add("Caches", drawn, table(_first_lines(cache_columns(profile, ascii_only=True))))
    moved = page.figure(figures.moves_figure(profile), "Weights that were moved in each denoising step")
    page.add("Weights that were moved", moved, table(move_columns(profile, ascii_only=True)), link="Moves")


def _work(page: Page, profile: Profile) -> None:
    page.add(
        "Kinds of work",
        page.figure(figures.kinds_figure(profile), "Kinds of work by MACs and by bytes"),
        folded("Kinds as a table", table(view_of(profile, By.kind, 0, WIDE).columns)),
    )
    page.add(
        "Attention",
        page.figure(figures.attention_figure(profile), "Attention by place"),
        folded("Every place of attention", table(view_of(profile, By.attention, 0, WIDE).columns)),
    )
    rows = operation_table(profile)
    page.add(
        "Top operations",
        paragraph(f"The first {TOP} of {numbers.exact(len(rows))}, by MACs.", "note") if len(rows) > TOP else Markup(),
        table(_operations(rows[:TOP])),
        link="Operations",
    )


def _operations(rows: Sequence[OperationRow]) -> list[Column]:
    return [
        Column("operation", [f"{row.operation}\n{row.shapes}" for row in rows], justify="left"),
        Column("component", [row.component for row in rows], justify="left"),
        Column("kind", [row.kind if row.known else f"{row.kind}, no formula" for row in rows], justify="left"),
        Column("dtype", [row.dtype for row in rows], justify="left"),
        Column("times", [numbers.exact(row.executions) for row in rows]),
        Column("MACs", [numbers.short(row.macs) for row in rows]),
        Column("other FLOPs", [numbers.short(row.other_flops) for row in rows]),
        Column("bytes", [numbers.gigabytes(row.read_bytes + row.written_bytes) for row in rows]),
        Column("share of MACs", [numbers.percent(row.share) for row in rows], justify="left"),
    ]


def _trust(page: Page, profile: Profile) -> None:
    lines = [(label, line) for label, line in summary(profile, verbose=True) if label != "Made by"]
    page.add("Ledger and assumptions", labelled(lines), link="Ledger")
    notes = labelled(closing(profile, profile.measured)) if profile.measured else Markup()
    page.add("Request and environment", together(request(profile), notes, environment(profile)), link="Request")
