"""Widgets that several tabs use."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from diffprof.app import views
from diffprof.app.background import error_message
from diffprof.app.context import AppContext
from diffprof.app.session import Session

# Listed explicitly: plotly's default has a link to its vendor and may have a button that uploads the chart.
CHART_BUTTONS = {"icicle": ["toImage"]}
STOP_TIMEOUT_SECONDS = 5.0
DEFAULT_BUTTONS = ["toImage", "zoom2d", "pan2d", "resetScale2d"]


def two_columns(add_inputs: Callable[[], None], add_outputs: Callable[[], None]) -> None:
    """The layout of a tab: a narrow column for inputs, a wide one for results."""
    import gradio as gr

    with gr.Row():
        with gr.Column(scale=1, min_width=300):
            add_inputs()
        with gr.Column(scale=3, min_width=320):
            add_outputs()


def html_block(name: str, html: str = "") -> Any:
    """A block for HTML of `diffprof.app.views`; it takes no space while it is empty."""
    import gradio

    return gradio.HTML(html, elem_id=name, elem_classes="written", padding=False)


def chart_block(label: str, name: str) -> Any:
    """A block for a chart, hidden until there is one."""
    import gradio

    return gradio.Plot(label=label, elem_id=name, elem_classes="figure", visible=False)


def show_chart(figure: Any) -> Any:
    """The update that shows a chart in its block, or hides the block if there is no chart."""
    import gradio

    return gradio.Plot(value=None if figure is None else _plot_data(figure), visible=figure is not None)


def _plot_data(figure: Any) -> Any:
    """The chart's data for the browser, with the plotly configuration that Gradio would drop."""
    from gradio.components.plot import PlotData

    parts = json.loads(figure.to_json())
    buttons = CHART_BUTTONS.get(parts["data"][0]["type"], DEFAULT_BUTTONS)
    parts["config"] = {"responsive": True, "displaylogo": False, "plotlyServerURL": "", "modeBarButtons": [buttons]}
    # Scrolling with a finger must not zoom the chart; there is a button for that.
    parts["layout"]["dragmode"] = False
    return PlotData(type="plotly", plot=json.dumps(parts))


def hide_all(blocks: Sequence[Any]) -> dict[Any, Any]:
    """Updates that empty the blocks, so that an old result does not stay below a new error."""
    import gradio

    return {block: "" if isinstance(block, gradio.HTML) else type(block)(value=None, visible=False) for block in blocks}


def show_errors(message: Any, handler: Callable[..., Any], results: Sequence[Any] = ()) -> Callable[..., Any]:
    """Wrap an event handler: its errors are shown in the block `message`, and the `results` are emptied."""

    def show_error(error: Exception) -> dict[Any, Any]:
        return {**hide_all(results), message: views.error_notice(error_message(error))}

    def handle(*values: Any) -> Any:
        try:
            return handler(*values)
        except Exception as error:  # noqa: BLE001 whatever it is
            return show_error(error)

    def handle_with_updates(*values: Any) -> Iterator[Any]:
        try:
            yield from handler(*values)
        except Exception as error:  # noqa: BLE001 as above
            yield show_error(error)

    return handle_with_updates if inspect.isgeneratorfunction(handler) else handle


def stop_button(name: str) -> Any:
    """A button that stops the work of its tab; the style sheet shows it only while work is running or queued."""
    import gradio

    return gradio.Button("Stop", min_width=80, elem_id=name, elem_classes="stop")


def connect_stop_button(button: Any, context: AppContext, tab: str, message: Any, events: Sequence[Any]) -> None:
    """Let the button stop the running work of a tab for this visitor, and cancel queued work."""

    def stop(session: Session) -> str:
        # Wait for the last message of the work, which would otherwise replace this one.
        session.stop(tab, STOP_TIMEOUT_SECONDS)
        return views.notice("Stopped.")

    button.click(
        stop, context.session, message, cancels=list(events), queue=False, show_progress="hidden",
        api_visibility="private",
    )  # fmt: skip


def optional_number(label: str, name: str, placeholder: str = "default") -> Any:
    """A field for a number that may be left empty; `placeholder` names the default."""
    import gradio

    return gradio.Textbox(
        "", label=label, placeholder=placeholder, min_width=80, elem_id=name, max_lines=1, max_length=40
    )
