"""What all charts share: the palette, a light and a dark template, axes, and escaping."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.render.clean import clean

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from plotly.graph_objects.layout import Template

# Distinguishable for the colour-blind, and readable on white and on black.
COLOURS = (
    "#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#6cc5b0", "#ff8ab7", "#97bbf5", "#9c6b4e",
)  # fmt: skip
OWN_COLOURS = {
    **dict.fromkeys(("unet", "transformer", "decoder"), 0),
    **dict.fromkeys(("vae", "movq", "vqgan"), 1),
    "text_encoder": 2,
    "text_encoder_2": 3,
    "text_encoder_3": 4,
    "image_encoder": 5,
    "controlnet": 6,
    **dict.fromkeys(("transformer_2", "unet_2", "prior_prior", "prior"), 7),
    "safety_checker": 8,
}
"""The colour of a component on every page, as an index of `COLOURS`, unless a costlier component there has it."""
GREY = "#9498a0"
NEUTRAL = ("#6d7a8d", "#b7bfca")
"""For anything but components: on the whole page, the colours above belong to components."""
RUN_COLOURS = ("#6d7a8d", "#c2408f", "#0e9aa7", "#9c6b4e", "#7f7fd5", "#b59a2d")
"""For profiles that are compared, on pages where components have the colours above."""
GOOD = "#3ca951"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK = {False: "#1c2430", True: "#e6e9ef"}
FAINT = {False: "#e4e7ec", True: "#2b3340"}
CARD = {False: "#ffffff", True: "#171c24"}
"""Light and dark: the colour of text, of lines, and of the background of a chart."""
BALANCED_LUMINANCE = 0.215
"""The luminance at which white and dark text are equally readable."""

ROW = 34
"""Height of one bar with its name."""
LONGEST_LABEL = 22


def graph_objects() -> Any:
    """`plotly.graph_objects`, imported when a chart is made."""
    try:
        from plotly import graph_objects
    except ImportError as error:
        raise RequestError(
            "Charts need plotly; install it with `pip install 'diffprof[report]'`, or use the tables."
        ) from error
    return graph_objects


def template(dark: bool) -> Template:
    """The theme of all charts, light or dark; for ``chart.update_layout(template=...)``."""
    axis = _axis_theme(dark)
    return graph_objects().layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": INK[dark]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(COLOURS),
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": CARD[dark],
                "bordercolor": GREY,
                "font": {"family": FONT, "size": 13, "color": INK[dark]},
                "align": "left",
                "namelength": -1,
            },
            # Above the chart: a telephone has no space beside it.
            "legend": {
                "orientation": "h",
                "yanchor": "bottom",
                "y": 1.02,
                "xanchor": "left",
                "x": 0,
                "traceorder": "normal",
            },
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "bargap": 0.3,
            # A name that does not fit is left out, not made too small to read.
            "uniformtext": {"minsize": 11, "mode": "hide"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": INK[dark]},
        }
    )


def _axis_theme(dark: bool) -> dict[str, Any]:
    return {
        "gridcolor": FAINT[dark],
        "linecolor": FAINT[dark],
        "zerolinecolor": FAINT[dark],
        # Space between an axis and its labels, so that those in the corner do not touch.
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": "rgba(0,0,0,0)",
        "automargin": True,
        "title": {"standoff": 8, "font": {"size": 12, "color": GREY}},
    }


def make_chart(traces: Sequence[Any], height: int, **layout: Any) -> Figure:
    """Create a chart with the light theme."""
    chart = graph_objects().Figure(
        data=list(traces), layout={"template": template(dark=False), "height": height, **layout}
    )
    # The layout does not depend on the length of names, so a chart can be drawn in any width.
    chart.update_layout(autosize=True)
    return chart


def escape(text: str, longest: int | None = None) -> str:
    """Escape a name from outside: plotly interprets tags such as <b>."""
    line = clean(text)
    if longest is not None and len(line) > longest:
        line = f"{line[: longest - 1]}…"
    return html.escape(line, quote=False)


def join_lines(*parts: str) -> str:
    """Join escaped texts, each on its own line."""
    return "<br>".join(part for part in parts if part)


def component_colours(profile: Profile) -> Mapping[str, str]:
    """The colour of each component in every chart."""
    return colours_of_components(sorted(profile.components, key=lambda slot: -profile.components[slot].macs))


def colours_of_components(slots: Sequence[str]) -> Mapping[str, str]:
    """Assign a colour to each component: its usual one, unless a component before it in the list has that one."""
    chosen: dict[str, int] = {}
    for slot in slots:
        number = OWN_COLOURS.get(slot)
        if number is not None and number not in chosen.values():
            chosen[slot] = number
    free = [number for number in range(len(COLOURS)) if number not in chosen.values()] or list(range(len(COLOURS)))
    others = [slot for slot in slots if slot not in chosen]
    chosen |= {slot: free[number % len(free)] for number, slot in enumerate(others)}
    return {slot: COLOURS[chosen[slot]] for slot in slots}


def colours_of(names: Sequence[str]) -> Mapping[str, str]:
    """A colour for each name; from the tenth on they repeat."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}


def lighten(colour: str, amount: float) -> str:
    """The colour mixed with white: 0 leaves it, 1 makes it white."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * amount):02x}" for part in parts)


def text_colour_on(colour: str) -> str:
    """A readable text colour on this background: white, or the dark ink."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return INK[False] if 0.2126 * red + 0.7152 * green + 0.0722 * blue > BALANCED_LUMINANCE else "#ffffff"


def seconds(nanoseconds: float) -> float:
    """Seconds for a time axis, rounded to nanoseconds to keep the page small."""
    return round(nanoseconds / 1e9, 9)


def amount_axis(title: str, unit: str = "", **more: Any) -> dict[str, Any]:
    """An axis of amounts: ``2T``, ``400GB``, ``12ms``."""
    return {"title": {"text": title}, "tickformat": "~s", "ticksuffix": unit, "rangemode": "tozero", **more}


def time_axis(title: str, longest_ns: float, **more: Any) -> dict[str, Any]:
    """An axis of seconds that is labelled in the unit of its longest time: ``10 ms``, not ``10m``."""
    unit, factor = next(
        ((unit, factor) for unit, factor in TIME_UNITS if longest_ns / 1e9 >= 1 / factor), TIME_UNITS[-1]
    )
    step = _round_step(longest_ns / 1e9 * factor / TICKS)
    values = [number * step for number in range(int(longest_ns / 1e9 * factor / step) + 2)]
    return {
        "title": {"text": title},
        "rangemode": "tozero",
        "tickmode": "array",
        "tickvals": [value / factor for value in values],
        "ticktext": [f"{value:g} {unit}" for value in values],
        **more,
    }


def parameters_axis(most: int, **more: Any) -> dict[str, Any]:
    """An axis of parameters as model cards write them: ``500M``, ``1.5B``."""
    step = _round_step(most / TICKS)
    values = [number * step for number in range(int(most / step) + 2)]
    return {
        "title": {"text": "parameters"}, "rangemode": "tozero", "tickmode": "array", "tickvals": values,
        "ticktext": [short_count(value) for value in values], **more,
    }  # fmt: skip


def short_count(number: float) -> str:
    """``500M``, ``1.5B``: on an axis of parameters."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def time_text(seconds: float) -> str:
    """``10 ms``, ``100 µs``: a round time on an axis."""
    unit, factor = next(((unit, factor) for unit, factor in TIME_UNITS if seconds >= 0.999 / factor), TIME_UNITS[-1])
    return f"{round(seconds * factor, 6):g} {unit}"


TICKS = 6
TIME_UNITS = (("s", 1), ("ms", 1e3), ("µs", 1e6))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... that is at least this."""
    if least <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(least))
    return float(next(size * power for size in (1, 2, 5, 10) if size * power >= least * 0.999))


def share_axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis of shares in per cent."""
    return {"title": {"text": title}, "tickformat": ".0%", "rangemode": "tozero", **more}


def steps_axis(count: int) -> dict[str, Any]:
    """An axis of denoising steps: whole numbers, a dozen at most."""
    every = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, count) if size * 12 >= count)
    return {"title": {"text": "denoising step"}, "tick0": 0, "dtick": every, "showgrid": False, "zeroline": False}


def names_axis(**more: Any) -> dict[str, Any]:
    """An axis of names, the first one on top; a name that looks like a number or a date stays a name."""
    return {"type": "category", "autorange": "reversed", "showgrid": False, **more}


def numbered_axis(names: Sequence[str]) -> dict[str, Any]:
    """An axis of rows, the first one on top, each with its name; two rows may have the same."""
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        # Half a bar of space beyond the first and the last.
        "range": [len(names) - 0.5, -0.5],
        "showgrid": False,
        "zeroline": False,
    }
