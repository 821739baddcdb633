"""The tab Compare: models and saved profiles side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diffprof.app import showing
from diffprof.app.choices import chosen_models, model_choices
from diffprof.app.comparing import SideBySide, side_by_side
from diffprof.app.page import Page
from diffprof.app.pieces import drawn, optional, plot, safely, stops, written
from diffprof.app.typed import whole
from diffprof.app.visit import Visit
from diffprof.app.working import Done, told
from diffprof.comparison import compare
from diffprof.comparison.curves import Growth
from diffprof.comparison.views import charts
from diffprof.comparison.views.curves import curves_figure
from diffprof.record.progress import Progress

TAB = "compare"
SIZES = {"width": "Width", "height": "Height", "num_inference_steps": "Steps"}


def compare_tab(page: Page) -> None:
    """Lay the tab out and connect it."""
    import gradio as gr

    with gr.Row():
        with gr.Column(scale=1, min_width=300):
            models = gr.Dropdown(
                model_choices(), value=[], multiselect=True, label="Models", allow_custom_value=True,
                elem_id="compare-models",
            )  # fmt: skip
            files = gr.File(
                label="Saved profiles (.json, .json.gz)", file_count="multiple", file_types=[".json", ".gz"],
                height=170, elem_id="compare-files",
            )  # fmt: skip
            with gr.Row():
                width = optional("Width", "compare-width")
                height = optional("Height", "compare-height")
                steps = optional("Steps", "compare-steps")
            curves = gr.Checkbox(True, label="Curves over size and steps", elem_id="compare-curves")
            with gr.Row():
                start = gr.Button("Compare", variant="primary", min_width=80, elem_id="compare-start")
                stop = gr.Button("Stop", min_width=80, elem_id="compare-stop")
        with gr.Column(scale=3, min_width=320):
            message = written(
                "compare-message",
                showing.notice("Choose models, or upload profiles that were saved with `diffprof profile -o` or here."),
            )
            links = written("compare-links")
            plots = comparison_plots("compare")
            tables = written("compare-tables")

    def compared(
        visit: Visit, names: Sequence[str], uploads: Sequence[str] | None, curved: bool, *typed: str
    ) -> Iterator[dict[Any, Any]]:
        def work(progress: Progress) -> SideBySide:
            chosen = chosen_models(names, page.setup.allow_paths)
            said = {name: whole(label, text) for (name, label), text in zip(SIZES.items(), typed, strict=True)}
            asked = {name: value for name, value in said.items() if value is not None}
            return side_by_side(chosen, uploads or (), asked, curved, progress)

        for news in told(visit, TAB, work):
            if isinstance(news, Done):
                one: SideBySide = news.value
                yield {
                    message: "",
                    links: showing.result(page.shelf.links(one.profiles, one.names)),
                    tables: showing.compared(compare(one.profiles, one.names), one.growth.notes if one.growth else ()),
                    **dict(zip(plots, all_drawn(one), strict=True)),
                }
            else:
                yield {message: showing.news(news)}

    comparing = start.click(
        safely(message, compared), [page.visit, models, files, curves, width, height, steps],
        [message, links, tables, *plots],
        trigger_mode="once", concurrency_id="counting", concurrency_limit=2, show_progress="minimal",
        show_progress_on=message, api_visibility="private",
    )  # fmt: skip
    stops(stop, page, TAB, message, [comparing])


def comparison_plots(tab: str) -> list[Any]:
    """Places for all figures of a comparison."""
    labels = {
        "components": "MACs of one generation, by component",
        "parameters": "Parameters, by component",
        "cost": "Cost against parameters",
        "times": "Time of one generation",
        "sizes": "MACs over the size of the picture",
        "steps": "MACs over the denoising steps",
    }
    return [plot(label, f"{tab}-{name}") for name, label in labels.items()]


def all_drawn(one: SideBySide) -> list[Any]:
    """The figures of a comparison, in the places of `comparison_plots`; one that has nothing to show is hidden."""
    growth = one.growth or Growth((), ())
    made = [
        charts.compared_components_figure(one.profiles, one.names),
        charts.compared_parameters_figure(one.profiles, one.names),
        charts.cost_against_parameters_figure(one.profiles, one.names),
        charts.compared_times_figure(one.profiles, one.names),
        curves_figure(growth.sizes, "pixels of the picture"),
        curves_figure(growth.steps, "denoising steps"),
    ]
    return [drawn(figure) for figure in made]
