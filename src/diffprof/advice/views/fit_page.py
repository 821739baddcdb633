"""Predicted memory as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.advice.views.fit_charts import stages_chart
from diffprof.advice.views.fit_tables import answer_block, changes_block, host_block, stages_block
from diffprof.record.fitted import Fit
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, paragraph
from diffprof.version import __version__


def fit_html(fit: Fit) -> str:
    """The whole page."""
    page = Page(f"{fit.model}: memory")
    answer, stages, host = answer_block(fit), stages_block(fit), host_block(fit)
    page.add("Memory over the stages", page.chart(stages_chart(fit), "Memory of each stage by owner"))
    page.add("Stages", html_table(stages.columns))
    page.add("Host", *(paragraph(line) for line in host.lines))
    if fit.changes:
        changes = changes_block(fit)
        page.add("Changes that fit", html_table(changes.columns), code_lines(changes.after[1:]))
    page.add("Assumptions", element("ul", *(element("li", line) for line in fit.assumptions)))
    header = [
        paragraph("diffprof fit", "made-by"),
        element("h1", fit.model),
        paragraph(answer.lines[0], "lead"),
        *(paragraph(line) for line in answer.lines[1:]),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def code_lines(lines: Sequence[str]) -> Markup:
    """Code in a box that scrolls, so that a long line does not widen the page."""
    # Text in markup is one line: each line is an element of its own.
    inside = [element("div", line or "\N{NO-BREAK SPACE}") for line in lines]
    return element("pre", *inside, style="overflow-x:auto")
