"""Advice as one self-contained HTML page, with a chart of time against memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diffprof.advice.views.advice_tables import advice_title, options_block, summary_lines
from diffprof.advice.views.request_words import request_lines
from diffprof.record.advice import HIGH, LOW, MEDIUM, NO_RISK, Advice, Option
from diffprof.render import numbers
from diffprof.render.charts.style import COLOURS, GREY, escape, graph_objects, make_chart
from diffprof.render.columns import Column
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, code_block, details, paragraph
from diffprof.version import __version__

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 1024**3
HEIGHT = 460
RISK_COLOURS = {NO_RISK: COLOURS[2], LOW: COLOURS[0], MEDIUM: COLOURS[1], HIGH: COLOURS[3]}


def advice_html(advice: Advice) -> str:
    """The whole page."""
    page = Page(advice_title(advice.model, advice))
    options = options_block(advice)
    page.add("Time against memory", page.chart(front_chart(advice), "Options by memory and time"))
    if advice.options:
        after = (paragraph(line, "note") for line in options.after)
        page.add("Options", html_table(_add_numbers(options.columns)), *after)
        page.add("How to do each", *map(_how_to_apply, range(1, len(advice.options) + 1), advice.options), link="Code")
    page.add("Assumptions", element("ul", *(element("li", line) for line in advice.assumptions)))
    header = [
        paragraph("diffprof advise", "made-by"),
        element("h1", page.title),
        *(paragraph(line, "about") for line in request_lines(advice)),
        *(paragraph(f"{line[:1].upper()}{line[1:]}.", kind) for line, kind in _answer_first(summary_lines(advice))),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _answer_first(lines: Sequence[str]) -> list[tuple[str, str | None]]:
    """The best option first, then the request it is compared with."""
    request, tried, best, *others = lines
    return [(best, "lead"), *((line, None) for line in others), (f"{request}; {tried}", "about")]


def _add_numbers(columns: Sequence[Column]) -> list[Column]:
    """Number the rows like the points of the chart."""
    first, *others = columns
    return [replace(first, cells=[f"{number}. {name}" for number, name in enumerate(first.cells, 1)]), *others]


def _how_to_apply(number: int, option: Option) -> Markup:
    commands = [command for command in (option.fit_command, option.predict_command) if command]
    return details(
        f"{number}. {option.name}",
        code_block("Python", option.code),
        code_block("Command line, for the same figures", commands),
    )


def front_chart(advice: Advice) -> Figure:
    """A chart with a point for each option, coloured by risk, one for the request, and a line for the device."""
    graph = graph_objects()
    numbered = list(enumerate(advice.options or advice.nearest, 1))
    traces = [
        _points(graph, f"risk {risk}", [pair for pair in numbered if pair[1].risk == risk], colour)
        for risk, colour in RISK_COLOURS.items()
    ]
    traces.append(_points(graph, "as requested", [(0, advice.requested)], GREY, "x"))
    chart = make_chart(
        [trace for trace in traces if len(trace.x)], HEIGHT, showlegend=True,
        xaxis={"title": {"text": "memory, as nvidia-smi shows it"}, "rangemode": "tozero", "ticksuffix": " GiB"},
        yaxis={"title": {"text": "time for each result"}, "rangemode": "tozero", "ticksuffix": " s"},
    )  # fmt: skip
    if advice.usable_bytes is not None:
        label = f"usable on {advice.accelerator}: {numbers.gibibytes(advice.usable_bytes, brief=True)}"
        chart.add_vline(
            x=advice.usable_bytes / GIB, line={"color": GREY, "width": 2, "dash": "dash"}, name=escape(label),
            showlegend=True,
        )  # fmt: skip
    return chart


def _points(graph: Any, name: str, numbered: list[tuple[int, Option]], colour: str, symbol: str = "circle") -> Any:
    """Points labelled with the numbers of the options in the table."""
    options = [option for _, option in numbered]
    return graph.Scatter(
        name=escape(name), mode="markers+text", x=[option.peak.device_bytes / GIB for option in options],
        y=[option.seconds for option in options], marker={"color": colour, "size": 12, "symbol": symbol},
        text=[str(number) if number else "" for number, _ in numbered], textposition="middle right", cliponaxis=False,
        hovertext=[
            f"{escape(option.name)}: {numbers.estimate(option.seconds)}, {numbers.gibibytes(option.peak.device_bytes)}"
            for option in options
        ],
        hoverinfo="text",
    )  # fmt: skip
