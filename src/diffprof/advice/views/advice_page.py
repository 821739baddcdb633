"""Advice as one self-contained HTML page, with a chart of time against memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffprof.advice.views.advice_tables import options_block, summary_block
from diffprof.record.advised import RISKS, Advice, Option
from diffprof.render import numbers
from diffprof.render.charts.style import GREY, colours_of, escape, graph_objects, make_chart
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, code_block, details, paragraph
from diffprof.version import __version__

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 1024**3
HEIGHT = 460


def advice_html(advice: Advice) -> str:
    """The whole page."""
    page = Page(f"{advice.model} on {advice.accelerator}: what to change")
    summary, options = summary_block(advice), options_block(advice)
    page.add("Time against memory", page.chart(front_chart(advice), "Options by memory and time"))
    page.add("Options", html_table(options.columns), *(paragraph(line, "note") for line in options.after))
    page.add("How to do each", *map(_how, advice.options), link="Code")
    page.add("Assumptions", element("ul", *(element("li", line) for line in advice.assumptions)))
    header = [
        paragraph("diffprof advise", "made-by"),
        element("h1", summary.title),
        *(paragraph(f"{line[:1].upper()}{line[1:]}.", "lead" if place == 2 else None)
          for place, line in enumerate(summary.lines)),
    ]  # fmt: skip
    return page.html(header, f"Made with diffprof {__version__}.")


def _how(option: Option) -> Markup:
    commands = [command for command in (option.fit_command, option.predict_command) if command]
    return details(
        option.name, code_block("Python", option.code), code_block("Command line, for the same figures", commands)
    )


def front_chart(advice: Advice) -> Figure:
    """A point for each option, by risk, and one for the request; the line of the device."""
    graph = graph_objects()
    colours = colours_of([f"risk {risk}" for risk in RISKS])
    traces = [
        _points(graph, f"risk {risk}", [option for option in advice.options if option.risk == risk], colour)
        for risk, colour in zip(RISKS, colours.values(), strict=True)
    ]
    traces.append(_points(graph, "as requested", [advice.requested], GREY, "x"))
    chart = make_chart(
        [trace for trace in traces if len(trace.x)], HEIGHT, showlegend=True,
        xaxis={"title": {"text": "memory, as nvidia-smi shows it"}, "rangemode": "tozero", "ticksuffix": " GiB"},
        yaxis={"title": {"text": "time of one"}, "rangemode": "tozero", "ticksuffix": " s"},
    )  # fmt: skip
    if advice.usable_bytes is not None:
        label = f"{advice.accelerator}: {numbers.gibibytes(advice.usable_bytes)} usable"
        chart.add_vline(
            x=advice.usable_bytes / GIB, line={"color": GREY, "width": 2, "dash": "dash"},
            annotation={"text": escape(label), "bgcolor": "rgba(255,255,255,0.85)"},
        )  # fmt: skip
    return chart


def _points(graph: Any, name: str, options: list[Option], colour: str, symbol: str = "circle") -> Any:
    return graph.Scatter(
        name=escape(name), mode="markers", x=[option.peak.device_bytes / GIB for option in options],
        y=[option.seconds for option in options], marker={"color": colour, "size": 10, "symbol": symbol},
        hovertext=[
            f"{escape(option.name)}: {numbers.estimate(option.seconds)}, {numbers.gibibytes(option.peak.device_bytes)}"
            for option in options
        ],
        hoverinfo="text",
    )  # fmt: skip
