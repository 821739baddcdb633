"""How the cost of a model grows: in words, as formulas, as tables, a chart and data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from diffprof.advice.scale import CurvePoint, Scaling, simplify
from diffprof.laws.polynomials import Monomial, Polynomial
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.charts.style import NEUTRAL, amount_axis, graph_objects, make_chart
from diffprof.render.columns import Column
from diffprof.render.console import render_text
from diffprof.render.csv import table_csv
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import element
from diffprof.render.report.page import Page, labelled_list, paragraph
from diffprof.version import __version__

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from rich.console import Console

NAMES = {
    "height": "height", "width": "width", "num_frames": "frames", "num_images_per_prompt": "images",
    "num_inference_steps": "steps", "tokens": "words of the prompt",
}  # fmt: skip
CHART_HEIGHT = 420
TEXT_WIDTH = 110


def scale_blocks(scaling: Scaling) -> list[Block]:
    """The formulas, the tables, what they say in words, and where that holds."""
    tables = [_sizes(scaling), _frames(scaling), _steps(scaling)]
    return [
        Block(f"{scaling.model}: how its cost grows", [*_request(scaling), *_formulas(scaling)]),
        *(Block(columns=columns) for columns in tables if columns),
        Block(lines=list(sentences(scaling))),
        Block(lines=[*_domain(scaling), _versions(scaling)]),
    ]


def print_scale(scaling: Scaling, console: Console) -> None:
    """Print all of it."""
    print_blocks(scale_blocks(scaling), console)


def scale_text(scaling: Scaling) -> str:
    """The same as plain text, for Python's ``print``."""
    return render_text(lambda console: print_scale(scaling, console), TEXT_WIDTH)


def scale_markdown(scaling: Scaling) -> str:
    """The same as Markdown, for a pull request."""
    return markdown(scale_blocks(scaling))


def scale_notebook(scaling: Scaling) -> str:
    """The same as HTML, for a notebook."""
    from diffprof.render.notebook import blocks_html

    return blocks_html(scale_blocks(scaling))


def _request(scaling: Scaling) -> Iterator[str]:
    """What the tables are relative to."""
    given = scaling.request
    parts = [f"{given['width']} x {given['height']}"] if {"height", "width"} <= set(given) else []
    for name, noun in (("num_frames", "frame"), ("num_images_per_prompt", "image"), ("num_inference_steps", "step")):
        parts += [numbers.times(given[name], noun)] if name in given else []
    if parts:
        yield f"relative to {', '.join(parts)}"


def _formulas(scaling: Scaling) -> Iterator[str]:
    if scaling.counted_because is not None:
        reason = scaling.counted_because
        yield f"{reason[:1].upper()}{reason[1:]}: these sizes were counted one by one."
        return
    yield "MACs of one generation, for sizes that divide evenly:"
    for part in scaling.components:
        yield f"  {part.component} = {formula(simplify(part.macs, scaling.variables))}"


def formula(polynomial: Polynomial) -> str:
    """Such as ``3 + 2 * height * width``, smallest powers first."""
    terms = sorted(polynomial.items(), key=lambda term: (sum(power for _, power in term[0]), term[0]))
    return " + ".join(_term(monomial, coefficient) for monomial, coefficient in terms) or "0"


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    order = {name: place for place, name in enumerate(NAMES)}
    ordered = sorted(monomial, key=lambda factor: order.get(factor[0], len(order)))
    factors = [NAMES.get(name, name) + (f"^{power}" if power > 1 else "") for name, power in ordered]
    number = numbers.exact(coefficient.numerator)
    if coefficient.denominator != 1:
        number += f"/{numbers.exact(coefficient.denominator)}"
    return " * ".join([number, *factors] if number != "1" or not factors else factors)


def _domain(scaling: Scaling) -> Iterator[str]:
    for name, values in scaling.domain.items():
        yield f"Proved for {_domain_name(name)}: {values}."


def _domain_name(name: str) -> str:
    return "words and marks of the prompt" if name == "tokens" else NAMES.get(name, name)


def _versions(scaling: Scaling) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in scaling.versions.items())
    return f"{'Counted' if scaling.counted_because else 'Proved'} with {versions}."


def _sizes(scaling: Scaling) -> list[Column]:
    if not scaling.curve:
        return []
    usual, points = _nearest(scaling), scaling.curve
    return [
        Column("size", [f"{point.width} x {point.height}" for point in points], justify="left"),
        Column("MACs", [numbers.macs(point.macs) for point in points]),
        Column("relative", [numbers.factor(point.macs / usual.macs) for point in points]),
        Column("MACs per step", [numbers.macs(point.step_macs) for point in points]),
        Column("attention", [numbers.percent(point.attention_share) for point in points]),
        Column("peak activations", [numbers.gibibytes(point.peak_live_bytes) for point in points]),
    ]


def _frames(scaling: Scaling) -> list[Column]:
    if len(scaling.frames) < 2:
        return []
    points = scaling.frames
    usual = next((point for point in points if point.frames == scaling.request["num_frames"]), points[0])
    return [
        Column("frames", [numbers.exact(point.frames) for point in points]),
        Column("MACs", [numbers.macs(point.macs) for point in points]),
        Column("relative", [numbers.factor(point.macs / usual.macs) for point in points]),
        Column("attention", [numbers.percent(point.attention_share) for point in points]),
    ]


def _steps(scaling: Scaling) -> list[Column]:
    if len(scaling.steps) < 2:
        return []
    points = scaling.steps
    usual = next((point for point in points if point.steps == scaling.request["num_inference_steps"]), points[0])
    return [
        Column("steps", [numbers.exact(point.steps) for point in points]),
        Column("MACs", [numbers.macs(point.macs) for point in points]),
        Column("relative", [numbers.factor(point.macs / usual.macs) for point in points]),
    ]


def _nearest(scaling: Scaling) -> CurvePoint:
    """The square of the curve that is nearest to the request."""
    area = scaling.request["height"] * scaling.request["width"]
    return min(scaling.curve, key=lambda point: abs(point.height * point.width - area))


def sentences(scaling: Scaling) -> Iterator[str]:
    """The law in words."""
    doubled = scaling.doubled.get("height and width")
    if doubled is not None:
        yield (
            f"Twice the height and width (4x the pixels) takes {numbers.significant(doubled)}x the compute"
            f"{', not 16x' if doubled < 15 else ''}."
        )
    for source in ("num_frames", "num_images_per_prompt", "num_inference_steps", "tokens"):
        if source in scaling.doubled:
            yield f"Twice the {NAMES[source]} takes {numbers.significant(scaling.doubled[source])}x the compute."
    if len(scaling.curve) < 2 and "height" in scaling.request and scaling.counted_because is None:
        yield "The law was proved for this size only; `diffprof profile` counts others."
    if not scaling.curve:
        return
    last = scaling.curve[-1]
    if scaling.half_attention_side is not None:
        side = scaling.half_attention_side
        yield f"From {side} x {side} on, attention (QKᵀ and AV) is more than half of the MACs."
    else:
        yield (
            f"Attention (QKᵀ and AV) is less than half of the MACs up to {last.width} x {last.height}, "
            f"where it is {numbers.percent(last.attention_share)}."
        )
    power = scaling.resolution_power
    if power is not None:
        size = f"{last.width} x {last.height}"
        yield f"Near {size}, compute grows as the side to the power of {numbers.significant(power)}."


def scale_data(scaling: Scaling) -> dict[str, Any]:
    """Everything, as JSON holds it."""
    return {
        "model": scaling.model,
        "request": dict(scaling.request),
        "components": [
            {
                "component": part.component,
                "macs": formula(part.macs),
                "calls": formula(part.calls),
                "attention_macs": formula(part.attention_macs),
                "even_macs": formula(simplify(part.macs, scaling.variables)),
            }
            for part in scaling.components
        ],
        "frames": [{**vars(point), "attention_share": point.attention_share} for point in scaling.frames],
        "steps": [vars(point) for point in scaling.steps],
        "counted_because": scaling.counted_because,
        "curve": [{**vars(point), "attention_share": point.attention_share} for point in scaling.curve],
        "doubled": dict(scaling.doubled),
        "half_attention_side": scaling.half_attention_side,
        "domain": dict(scaling.domain),
        "versions": dict(scaling.versions),
    }


def scale_json(scaling: Scaling) -> str:
    return json.dumps(scale_data(scaling), indent=2) + "\n"


def scale_csv(scaling: Scaling) -> str:
    """The curve."""
    names = ("height", "width", "macs", "step_macs", "attention_macs", "peak_live_bytes")
    return table_csv(names, [vars(point) for point in scaling.curve])


def scale_chart(scaling: Scaling) -> Figure:
    """MACs by the side of a square image, and attention's part of them."""
    graph = graph_objects()
    sides = [point.height for point in scaling.curve]
    whole, attention = NEUTRAL
    traces = [
        graph.Scatter(
            name="attention (QKᵀ and AV)", x=sides, y=[point.attention_macs for point in scaling.curve],
            fill="tozeroy", mode="lines", line={"color": attention}, hovertext=_hover(scaling, "attention"),
            hoverinfo="text",
        ),
        graph.Scatter(
            name="all MACs", x=sides, y=[point.macs for point in scaling.curve], mode="lines+markers",
            line={"color": whole}, hovertext=_hover(scaling, "all"), hoverinfo="text",
        ),
    ]  # fmt: skip
    return make_chart(
        traces, CHART_HEIGHT, showlegend=True, xaxis={"title": {"text": "height and width in pixels"}},
        yaxis=amount_axis("MACs"),
    )  # fmt: skip


def _hover(scaling: Scaling, what: str) -> list[str]:
    return [
        f"{point.height} x {point.width}: {numbers.macs(point.macs if what == 'all' else point.attention_macs)}"
        for point in scaling.curve
    ]


def scale_html(scaling: Scaling) -> str:
    """One self-contained page."""
    page = Page(f"{scaling.model}: how its cost grows")
    if scaling.curve:
        chart = page.chart(scale_chart(scaling), "MACs by the side of a square image")
        page.add("Cost by image size", chart, html_table(_sizes(scaling)), link="Size")
    if _frames(scaling):
        page.add("Cost by number of frames", html_table(_frames(scaling)), link="Frames")
    if _steps(scaling):
        page.add("Cost by number of steps", html_table(_steps(scaling)), link="Steps")
    page.add("The law", *(paragraph(line.strip()) for line in _formulas(scaling)), link="Law")
    domain = [(_domain_name(name), str(values)) for name, values in scaling.domain.items()]
    page.add("Proved for", labelled_list(domain), paragraph(_versions(scaling)))
    header = [
        paragraph("diffprof scale", "made-by"),
        element("h1", f"{scaling.model}: how its cost grows"),
        *(paragraph(line, None if place else "lead") for place, line in enumerate(sentences(scaling))),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")
