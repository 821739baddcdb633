"""Pieces that several tabs are made of."""

from __future__ import annotations

import json
from typing import Any

# Named one by one: plotly's own choice has a link to its makers and may have a button that sends them the figure.
BUTTONS = {"icicle": ["toImage"]}
OTHER_BUTTONS = ["toImage", "zoom2d", "pan2d", "resetScale2d"]


def written(name: str, words: str = "") -> Any:
    """A place for what `showing` writes; it takes no room while there is nothing."""
    import gradio

    return gradio.HTML(words, elem_id=name, elem_classes="written", padding=False)


def plot(label: str, name: str) -> Any:
    """A place for a figure, hidden until there is one."""
    import gradio

    return gradio.Plot(label=label, elem_id=name, elem_classes="figure", visible=False)


def drawn(figure: Any) -> Any:
    """The figure for such a place; where there is nothing to show the place is hidden."""
    import gradio

    return gradio.Plot(value=None if figure is None else _served(figure), visible=figure is not None)


def _served(figure: Any) -> Any:
    """The figure as the browser gets it, with what Gradio would not pass on: how it is to be used."""
    from gradio.components.plot import PlotData

    parts = json.loads(figure.to_json())
    buttons = BUTTONS.get(parts["data"][0]["type"], OTHER_BUTTONS)
    parts["config"] = {"displaylogo": False, "plotlyServerURL": "", "modeBarButtons": [buttons]}
    # A finger that scrolls the page must not zoom the figure; who wants to zoom has a button for it.
    parts["layout"]["dragmode"] = False
    return PlotData(type="plotly", plot=json.dumps(parts))


def optional(label: str, name: str, otherwise: str = "own") -> Any:
    """A number that need not be given; `otherwise` says what is taken then."""
    import gradio

    return gradio.Textbox(
        "", label=label, placeholder=otherwise, min_width=80, elem_id=name, max_lines=1, max_length=40
    )
