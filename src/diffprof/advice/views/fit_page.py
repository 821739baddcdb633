"""Predicted memory as one self-contained HTML page."""

from __future__ import annotations

from diffprof.advice.views.fit_charts import stages_chart
from diffprof.advice.views.fit_tables import (
    WHEN,
    changes_block,
    host_block,
    last_resort,
    peak_words,
    stages_block,
    verdict,
)
from diffprof.advice.views.request_words import heading, run_lines
from diffprof.record.fit import Change, Fit
from diffprof.render import numbers
from diffprof.render.report.html_table import html_table
from diffprof.render.report.lead import card_row
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, code_block, details, paragraph
from diffprof.version import __version__


def fit_html(fit: Fit) -> str:
    """The whole page."""
    page = Page(f"{heading(fit)}: memory")
    stages, host = stages_block(fit), host_block(fit)
    page.add("Memory over the stages", page.chart(stages_chart(fit), "Memory of each stage by owner"))
    page.add("Stages", html_table(stages.columns))
    page.add("Host", *(paragraph(line) for line in host.lines))
    if fit.changes:
        changes = changes_block(fit)
        page.add("Changes that fit", html_table(changes.columns), *map(_how_to_apply, fit.changes))
    page.add("Assumptions", element("ul", *(element("li", line) for line in fit.assumptions)))
    header = [
        paragraph("diffprof fit", "made-by"),
        element("h1", heading(fit)),
        *(paragraph(f"{line[:1].upper()}{line[1:]}.", "about") for line in run_lines(fit.settings)),
        paragraph(f"It {verdict(fit)}.", "lead"),
        paragraph(f"The peak is {peak_words(fit)}; {_peak_sentence(fit)}."),
        *(paragraph(f"{line[:1].upper()}{line[1:]}.") for line in last_resort(fit)),
        _cards(fit),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _peak_sentence(fit: Fit) -> str:
    where = ".".join(part for part in (fit.peak.component, fit.peak.module) if part)
    return f"it is reached {WHEN[fit.peak.stage]}" + (f", in {where}" if where else "")


def _cards(fit: Fit) -> Markup:
    values = [(numbers.gibibytes(fit.peak.device_bytes, brief=True), "at the peak, as nvidia-smi shows it")]
    if fit.usable_bytes is not None:
        values.append((numbers.gibibytes(fit.usable_bytes, brief=True), f"usable on {fit.accelerator or 'the device'}"))
    values.append((numbers.gibibytes(fit.host.peak_bytes, brief=True), "of the host's memory"))
    if fit.changes:
        quickest = fit.changes[0]
        values.append((quickest.name, f"is the quickest change that fits: {quickest.slowdown:.2f}x the time"))
    return card_row(values)


def _how_to_apply(change: Change) -> Markup:
    return details(
        change.name,
        code_block("Python", change.code),
        code_block("Command line, for the same figures", [change.command] if change.command else []),
    )
