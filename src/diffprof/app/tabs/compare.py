"""The Compare tab: models and saved profiles side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diffprof.app import views
from diffprof.app.background import Done, Failed, run_for_session
from diffprof.app.comparison import compare_sources
from diffprof.app.context import AppContext
from diffprof.app.model_choices import choose_models, model_choices, model_hint
from diffprof.app.number_fields import parse_integer
from diffprof.app.session import Session
from diffprof.app.widgets import (
    chart_block,
    connect_stop_button,
    hide_all,
    html_block,
    optional_number,
    show_chart,
    show_errors,
    stop_button,
    two_columns,
)
from diffprof.comparison import Comparison
from diffprof.comparison.curves import Growth
from diffprof.comparison.views import charts
from diffprof.comparison.views.curves import curves_chart
from diffprof.record.progress import Progress

TAB = "compare"
ARGUMENTS = {"width": "Width", "height": "Height", "num_inference_steps": "Steps"}
EXAMPLE = ("sdxl", "sd3.5-medium")
HINT = (
    "Press Compare for the two models that are chosen, or choose others; or drop profiles that were saved with "
    "`diffprof profile -o` or downloaded here."
)
CHARTS = {
    "components": "MACs of one generation, by component",
    "parameters": "Parameters, by component",
    "cost": "Cost against parameters",
    "times": "Time of one generation",
    "sizes": "MACs over the size of the image",
    "steps": "MACs over the denoising steps",
}


class CompareTab:
    """The components of the tab, and the handlers of its events."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        two_columns(self._add_inputs, self._add_outputs)
        self._connect()

    def _add_inputs(self) -> None:
        import gradio as gr

        self.models = gr.Dropdown(
            model_choices(), value=list(EXAMPLE), multiselect=True, label="Models", allow_custom_value=True,
            elem_id="compare-models", elem_classes="models", info=model_hint(self.context.setup.allow_paths),
        )  # fmt: skip
        self.files = gr.File(
            label="Saved profiles (.json, .json.gz)", file_count="multiple", file_types=[".json", ".gz"],
            height=170, elem_id="compare-files",
        )  # fmt: skip
        with gr.Row():
            self.sizes = [optional_number(ARGUMENTS[name], f"compare-{name}") for name in ("width", "height")]
            self.steps = optional_number(ARGUMENTS["num_inference_steps"], "compare-steps")
        self.curves = gr.Checkbox(True, label="Curves over size and steps", elem_id="compare-curves")
        with gr.Row():
            self.start = gr.Button("Compare", variant="primary", min_width=80, elem_id="compare-start")
            self.stop = stop_button("compare-stop")

    def _add_outputs(self) -> None:
        self.message = html_block("compare-message", views.notice(HINT))
        self.answer = html_block("compare-answer")
        self.links = html_block("compare-links")
        self.charts = comparison_blocks("compare")
        self.tables = html_block("compare-tables")
        self.results = [self.answer, self.links, self.tables, *self.charts]

    def _connect(self) -> None:
        comparing = self.start.click(
            show_errors(self.message, self.compare, self.results),
            [self.context.session, self.models, self.files, self.curves, *self.sizes, self.steps],
            [self.message, *self.results],
            trigger_mode="once", concurrency_id="counting", concurrency_limit=2, show_progress="minimal",
            show_progress_on=self.message, api_visibility="private",
        )  # fmt: skip
        connect_stop_button(self.stop, self.context, TAB, self.message, [comparing])

    def compare(
        self, session: Session, names: Sequence[str], uploads: Sequence[str] | None, curves: bool, *numbers: str
    ) -> Iterator[dict[Any, Any]]:
        """Count the models, load the uploads, and show them side by side."""

        def work(progress: Progress) -> Comparison:
            models = choose_models(names, self.context.setup.allow_paths)
            given = zip(ARGUMENTS.items(), numbers, strict=True)
            arguments = {name: parse_integer(label, text) for (name, label), text in given}
            requested = {name: value for name, value in arguments.items() if value is not None}
            return compare_sources(models, uploads or (), requested, curves, progress)

        for status in run_for_session(session, TAB, work):
            if isinstance(status, Done):
                yield self._show(status.value)
            else:
                cleared = hide_all(self.results) if isinstance(status, Failed) else {}
                yield {**cleared, self.message: views.status_view(status)}

    def _show(self, comparison: Comparison) -> dict[Any, Any]:
        notes = comparison.growth.notes if comparison.growth else ()
        return {
            self.message: "",
            self.answer: views.comparison_answer(comparison),
            self.links: views.result(self.context.downloads.links(comparison.profiles, comparison.names)),
            self.tables: views.comparison_view(comparison, notes),
            **dict(zip(self.charts, comparison_charts(comparison), strict=True)),
        }


def comparison_blocks(tab: str) -> list[Any]:
    """Blocks for all charts of a comparison."""
    return [chart_block(label, f"{tab}-{name}") for name, label in CHARTS.items()]


def comparison_charts(comparison: Comparison) -> list[Any]:
    """Updates for the blocks of `comparison_blocks`; a chart with nothing to show is hidden."""
    growth = comparison.growth or Growth((), ())
    profiles, names = comparison.profiles, comparison.names
    figures = [
        charts.components_chart(profiles, names),
        charts.parameters_chart(profiles, names),
        charts.cost_chart(profiles, names),
        charts.times_chart(profiles, names),
        curves_chart(growth.sizes, "pixels of the image"),
        curves_chart(growth.steps, "denoising steps"),
    ]
    return [show_chart(figure) for figure in figures]
