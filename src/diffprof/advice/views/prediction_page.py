"""A predicted time as one self-contained HTML page."""

from __future__ import annotations

from diffprof.advice.views.prediction_charts import LOGARITHMIC, is_logarithmic, times_chart
from diffprof.advice.views.prediction_tables import PredictionTable, blocks, describe_basis
from diffprof.advice.views.request_words import heading
from diffprof.record.prediction import Prediction
from diffprof.render import numbers
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import element
from diffprof.render.report.page import Page, paragraph
from diffprof.version import __version__


def prediction_html(prediction: Prediction) -> str:
    """The whole page."""
    page = Page(f"{heading(prediction)}: predicted times")
    (summary, *_) = blocks(prediction, PredictionTable.accelerator)
    charts = {
        "by component": page.chart(times_chart(prediction), "Predicted time of each accelerator by component"),
        "by kind of operation": page.chart(
            times_chart(prediction, by_kind=True), "Predicted time of each accelerator by kind of operation"
        ),
    }
    note = paragraph(LOGARITHMIC, "note") if is_logarithmic(prediction) else ""
    page.add("On which hardware", note, page.tabs("charts", charts), html_table(summary.columns))
    for block in blocks(prediction, most=None)[1:-1]:  # a page scrolls sideways
        page.add(block.title, html_table(block.columns), *(paragraph(line, "note") for line in block.after))
    page.add("Assumptions", element("ul", *(element("li", line) for line in prediction.assumptions)))
    header = [
        paragraph("diffprof prediction", "made-by"),
        element("h1", heading(prediction)),
        paragraph(_lead(prediction), "lead"),
        paragraph(describe_basis(prediction)),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _lead(prediction: Prediction) -> str:
    name, time = min(prediction.accelerators.items(), key=lambda item: item[1].total_seconds)
    interval = f"{numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}"
    return f"One generation takes about {numbers.estimate(time.total_seconds)} on {name} ({interval})."
