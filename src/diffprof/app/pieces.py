"""Pieces that several tabs are made of."""

from __future__ import annotations

from typing import Any


def plot(label: str, name: str) -> Any:
    """A place for a figure, hidden until there is one."""
    import gradio

    return gradio.Plot(label=label, elem_id=name, elem_classes="figure", visible=False)


def drawn(figure: Any) -> Any:
    """The figure for such a place; where there is nothing to show the place is hidden."""
    import gradio

    return gradio.Plot(value=figure, visible=figure is not None)


def optional(label: str, name: str, otherwise: str = "own") -> Any:
    """A number that need not be given; `otherwise` says what is taken then."""
    import gradio

    return gradio.Textbox("", label=label, placeholder=otherwise, min_width=80, elem_id=name, max_lines=1, max_length=40)
