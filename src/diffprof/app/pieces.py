"""Pieces that several tabs are made of."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from diffprof.app import showing
from diffprof.app.page import Page
from diffprof.app.visit import Visit
from diffprof.app.working import sentence

# Named one by one: plotly's own choice has a link to its makers and may have a button that sends them the figure.
BUTTONS = {"icicle": ["toImage"]}
PATIENCE_SECONDS = 5.0
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


def safely(message: Any, work: Callable[..., Any]) -> Callable[..., Any]:
    """What answers an event, with whatever goes wrong in it shown as a sentence: the page lives on."""

    def failed(error: Exception) -> dict[Any, Any]:
        return {message: showing.problem(sentence(error))}

    def answered(*typed: Any) -> Any:
        try:
            return work(*typed)
        except Exception as error:  # noqa: BLE001 whatever it is
            return failed(error)

    def answering(*typed: Any) -> Iterator[Any]:
        try:
            yield from work(*typed)
        except Exception as error:  # noqa: BLE001 as above
            yield failed(error)

    return answering if inspect.isgeneratorfunction(work) else answered


def stops(button: Any, page: Page, tab: str, message: Any, events: Sequence[Any]) -> None:
    """Let the button end what a tab does for this visitor, and what waits for its turn."""

    def stopped(visit: Visit) -> str:
        # Not before the last message of the work: else that one would stay.
        under_way = visit.stop(tab, PATIENCE_SECONDS)
        return showing.notice("Stopped." if under_way else "Nothing is under way for you.")

    button.click(
        stopped, page.visit, message, cancels=list(events), queue=False, show_progress="hidden",
        api_visibility="private",
    )  # fmt: skip


def optional(label: str, name: str, otherwise: str = "own") -> Any:
    """A number that need not be given; `otherwise` says what is taken then."""
    import gradio

    return gradio.Textbox(
        "", label=label, placeholder=otherwise, min_width=80, elem_id=name, max_lines=1, max_length=40
    )
