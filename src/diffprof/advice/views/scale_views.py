"""The growth of a model's cost in words, as formulas, as a table, a chart and data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from diffprof.advice.scale import CurvePoint, Scaling, simplify
from diffprof.laws.polynomials import Monomial, Polynomial
from diffprof.render import numbers
from diffprof.render.charts.style import NEUTRAL, amount_axis, graph_objects, make_chart
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import element
from diffprof.render.report.page import Page, labelled_list, paragraph
from diffprof.version import __version__

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NAMES = {
    "height": "height", "width": "width", "num_frames": "frames", "num_images_per_prompt": "images",
    "num_inference_steps": "steps", "tokens": "words of the prompt",
}  # fmt: skip
COLUMNS = ("size", "MACs", "of one step", "attention", "times", "peak of activations")
FRAMES_COLUMNS = ("frames", "MACs", "attention", "times")
CHART_HEIGHT = 420


def scale_text(scaling: Scaling) -> str:
    """All of it as plain text."""
    lines = [f"{scaling.model}: how its cost grows", ""]
    lines += [*_formulas(scaling), ""]
    lines += [*_align([COLUMNS, *_rows(scaling)]), ""] if scaling.curve else []
    lines += [*_align([FRAMES_COLUMNS, *_frames_rows(scaling)]), ""] if len(scaling.frames) > 1 else []
    lines += [*sentences(scaling), ""]
    lines += [f"Proved for {_domain_name(name)} of {values}." for name, values in scaling.domain.items()]
    versions = ", ".join(f"{name} {version}" for name, version in scaling.versions.items())
    return "\n".join([*lines, f"{'Counted' if scaling.counted_because else 'Proved'} with {versions}.", ""])


def _domain_name(name: str) -> str:
    return "prompts with words and marks" if name == "tokens" else name


def _formulas(scaling: Scaling) -> Iterator[str]:
    if scaling.counted_because is not None:
        reason = scaling.counted_because
        yield f"{reason[:1].upper()}{reason[1:]}: these sizes were counted one by one."
        return
    yield "MACs of one generation, where all divisions come out even:"
    for part in scaling.components:
        yield f"  {part.component} = {formula(simplify(part.macs, scaling.variables))}"


def formula(polynomial: Polynomial) -> str:
    """Such as ``3 + 2 height width``, smallest powers first."""
    terms = sorted(polynomial.items(), key=lambda term: (sum(power for _, power in term[0]), term[0]))
    return " + ".join(_term(monomial, coefficient) for monomial, coefficient in terms) or "0"


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    factors = [NAMES.get(name, name) + (f"^{power}" if power > 1 else "") for name, power in monomial]
    number = numbers.exact(coefficient.numerator)
    if coefficient.denominator != 1:
        number += f"/{numbers.exact(coefficient.denominator)}"
    return " ".join([number, *factors] if number != "1" or not factors else factors)


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _rows(scaling: Scaling) -> Iterator[tuple[str, ...]]:
    usual = _nearest(scaling)
    for point in scaling.curve:
        yield (
            f"{point.height}x{point.width}", numbers.macs(point.macs), numbers.macs(point.step_macs),
            numbers.percent(point.attention_share), f"{numbers.significant(point.macs / usual.macs)}x",
            numbers.gibibytes(point.peak_live_bytes),
        )  # fmt: skip


def _frames_rows(scaling: Scaling) -> Iterator[tuple[str, ...]]:
    usual = next(
        (point for point in scaling.frames if point.frames == scaling.request["num_frames"]), scaling.frames[0]
    )
    for point in scaling.frames:
        times = f"{numbers.significant(point.macs / usual.macs)}x"
        yield str(point.frames), numbers.macs(point.macs), numbers.percent(point.attention_share), times


def _nearest(scaling: Scaling) -> CurvePoint:
    """The square of the curve that is nearest to the request."""
    area = scaling.request["height"] * scaling.request["width"]
    return min(scaling.curve, key=lambda point: abs(point.height * point.width - area))


def sentences(scaling: Scaling) -> Iterator[str]:
    """The law in words."""
    doubled = scaling.doubled.get("height and width")
    if doubled is not None:
        yield (
            f"Twice the height and width, 4x the pixels, is {numbers.significant(doubled)}x the compute"
            f"{', not 16x' if doubled < 15 else ''}."
        )
    for source in ("num_frames", "num_images_per_prompt", "num_inference_steps", "tokens"):
        if source in scaling.doubled:
            yield f"Twice the {NAMES[source]} is {numbers.significant(scaling.doubled[source])}x the compute."
    if len(scaling.curve) < 2 and "height" in scaling.request and scaling.counted_because is None:
        yield "The law was proved for this size only; `diffprof profile` counts others."
    if not scaling.curve:
        return
    last = scaling.curve[-1]
    if scaling.half_attention_side is not None:
        side = scaling.half_attention_side
        yield f"From {side}x{side} on, products of queries, keys and values are more than half of the MACs."
    else:
        yield (
            f"Products of queries, keys and values are less than half of the MACs up to {last.height}x{last.width}, "
            f"where they are {numbers.percent(last.attention_share)}."
        )
    power = scaling.resolution_power
    if power is not None:
        size = f"{last.height}x{last.width}"
        yield f"At {size} the compute grows with the power {numbers.significant(power)} of the side."


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
    """MACs over the side of a square, with the part of attention."""
    graph = graph_objects()
    sides = [point.height for point in scaling.curve]
    whole, attention = NEUTRAL
    traces = [
        graph.Scatter(
            name="products of queries, keys and values", x=sides, y=[point.attention_macs for point in scaling.curve],
            fill="tozeroy", mode="lines", line={"color": attention}, hovertext=_hover(scaling, "attention"),
            hoverinfo="text",
        ),
        graph.Scatter(
            name="all MACs", x=sides, y=[point.macs for point in scaling.curve], mode="lines+markers",
            line={"color": whole}, hovertext=_hover(scaling, "all"), hoverinfo="text",
        ),
    ]  # fmt: skip
    return make_chart(
        traces, CHART_HEIGHT, showlegend=True, xaxis={"title": {"text": "side of the image in pixels"}},
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
    said = list(sentences(scaling))
    if scaling.curve:
        page.add(
            "Cost over the side of a square image",
            page.chart(scale_chart(scaling), "MACs over the side of a square"),
            html_table(_columns(COLUMNS, _rows(scaling))),
            link="Size",
        )
    if len(scaling.frames) > 1:
        page.add("Cost over the frames", html_table(_columns(FRAMES_COLUMNS, _frames_rows(scaling))), link="Frames")
    page.add("The law", *(paragraph(line.strip()) for line in _formulas(scaling)), link="Law")
    domain = [(name.replace("_", " "), str(values)) for name, values in scaling.domain.items()]
    page.add("Proved for", labelled_list(domain))
    header = [
        paragraph("diffprof scale", "made-by"),
        element("h1", f"{scaling.model}: how its cost grows"),
        *(paragraph(line, None if place else "lead") for place, line in enumerate(said)),
    ]
    return page.html(header, f"Made with diffprof {__version__}.")


def _columns(headings: Sequence[str], rows: Iterator[tuple[str, ...]]) -> list[Column]:
    cells = list(zip(*rows, strict=True))
    return [
        Column(heading, values, justify="right" if place else "left")
        for place, (heading, values) in enumerate(zip(headings, cells, strict=True))
    ]
