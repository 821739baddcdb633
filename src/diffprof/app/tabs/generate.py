"""The Generate tab: an image, and what it cost to generate."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from diffprof import settings as config
from diffprof.app import views
from diffprof.app.background import Done, Failed, run_for_session
from diffprof.app.context import AppContext
from diffprof.app.generation_job import MODEL_DEFAULT, GenerateForm, PageGeneration, PageResult
from diffprof.app.model_choices import model_choices, model_hint
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
from diffprof.render import charts

TAB = "generate"
SCHEDULERS = (MODEL_DEFAULT, "ddim", "ddpm", "euler", "heun", "pndm", "lms", "unipc")
EXAMPLE = "a red circle on a blue background"
HINT = (
    "Describe the image and press Generate. Here follow the image, its time and memory, what to change, "
    "and where the time went. The included model draws coloured shapes within seconds, on any machine."
)
WITHOUT_TORCH = (
    'Generating needs torch and diffusers, which are not installed here; `pip install "diffprof[torch]"` adds them. '
    "The other tabs answer without them."
)


class GenerateTab:
    """The components of the tab, and the handlers of its events."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        two_columns(self._add_inputs, self._add_outputs)
        self._connect()

    def _add_inputs(self) -> None:
        import gradio as gr

        self.prompt = gr.Textbox(
            EXAMPLE, label="Prompt", lines=1, max_lines=4, elem_id="generate-prompt", max_length=10_000
        )
        self.model = gr.Dropdown(
            model_choices(), value=config.DEFAULT_MODEL, label="Model", allow_custom_value=True,
            elem_id="generate-model", elem_classes="models", info=model_hint(self.context.setup.allow_paths),
        )  # fmt: skip
        with gr.Row():
            self.start = gr.Button("Generate", variant="primary", min_width=80, elem_id="generate-start")
            self.stop = stop_button("generate-stop")
        self.size = gr.Dropdown(
            [MODEL_DEFAULT, *_size_choices()], value=MODEL_DEFAULT, label="Size",
            info="Or type one, such as 512x768.", allow_custom_value=True, elem_id="generate-size",
        )  # fmt: skip
        with gr.Row():
            self.steps = optional_number("Steps", "generate-steps")
            self.guidance = optional_number("Guidance", "generate-guidance")
            self.seed = optional_number("Seed", "generate-seed", "random")
        with gr.Accordion("More", open=False):
            self.negative = gr.Textbox(label="Negative prompt", elem_id="generate-negative", max_length=10_000)
            self.scheduler = gr.Dropdown(
                list(SCHEDULERS), value=MODEL_DEFAULT, label="Scheduler", allow_custom_value=True,
                elem_id="generate-scheduler",
            )  # fmt: skip
            self.profiled = gr.Checkbox(self.context.setup.profiling, label="Measure it", elem_id="generate-profiled")

    def _add_outputs(self) -> None:
        import gradio as gr

        hint = HINT if find_spec("torch") else WITHOUT_TORCH
        self.message = html_block("generate-message", views.notice(hint))
        self.image = gr.Image(
            label="Image", type="pil", format="png", interactive=False, elem_id="generate-picture",
            buttons=["download", "fullscreen"], visible=False,
        )  # fmt: skip
        self.video = gr.Video(label="Video", interactive=False, elem_id="generate-film", visible=False)
        self.totals = html_block("generate-totals")
        self.links = html_block("generate-links")
        self.findings = html_block("generate-findings")
        self.times = html_block("generate-times")
        self.step_times = chart_block("Time of each denoising step", "generate-step-times")
        self.timeline = chart_block("Timeline of one generation", "generate-timeline")
        self.memory = chart_block("Memory over time", "generate-memory")
        self.results = [
            self.image, self.video, self.totals, self.links, self.findings, self.times, self.step_times,
            self.timeline, self.memory,
        ]  # fmt: skip

    def _connect(self) -> None:
        import gradio as gr

        form = [
            self.prompt, self.negative, self.model, self.size, self.steps, self.guidance, self.seed, self.scheduler,
            self.profiled,
        ]  # fmt: skip
        generating = gr.on(
            [self.start.click, self.prompt.submit], show_errors(self.message, self.generate, self.results),
            [self.context.session, *form], [self.message, *self.results],
            trigger_mode="once", concurrency_id="generating", concurrency_limit=1, show_progress="minimal",
            show_progress_on=self.message, api_visibility="private",
        )  # fmt: skip
        connect_stop_button(self.stop, self.context, TAB, self.message, [generating])

    def generate(self, session: Session, *form: Any) -> Iterator[dict[Any, Any]]:
        """Generate what the form describes, with progress, and show the result."""
        setup = self.context.setup
        generation = PageGeneration(GenerateForm(*form), setup.profiling_iterations, setup.allow_paths)
        for status in run_for_session(session, TAB, generation.run):
            if isinstance(status, Done):
                result: PageResult = status.value
                if result.profile is not None:
                    session.add("generate", result.profile, _png(result.first_frame))
                with tempfile.TemporaryDirectory() as folder:
                    yield {**self._show_media(result, Path(folder)), **self._show_profile(result)}
            else:
                cleared = hide_all(self.results) if isinstance(status, Failed) else {}
                yield {**cleared, self.message: views.status_view(status, generation.step_seconds)}

    def _show_media(self, result: PageResult, folder: Path) -> dict[Any, Any]:
        import gradio as gr

        notes = "".join(f" {note[:1].upper()}{note[1:].rstrip('.')}." for note in result.notes)
        # A copy, because the page does not serve the folder with the originals.
        video = str(shutil.copy(result.path, folder)) if result.is_video else None
        return {
            self.message: views.notice(f"Seed {result.seed}. Saved as {result.path.name}.{notes}"),
            self.image: gr.Image(
                value=video if result.is_video else result.first_frame, visible=not result.needs_player
            ),
            self.video: gr.Video(value=video if result.needs_player else None, visible=result.needs_player),
        }

    def _show_profile(self, result: PageResult) -> dict[Any, Any]:
        profile = result.profile
        if profile is None:
            texts = dict.fromkeys([self.totals, self.links, self.findings, self.times], "")
            return {**texts, **{chart: show_chart(None) for chart in (self.step_times, self.timeline, self.memory)}}
        measured = profile.measured
        return {
            self.totals: views.totals_view(profile),
            self.links: views.result(self.context.downloads.links([profile], [profile.request.model])),
            self.findings: views.findings_view(profile) if measured else "",
            self.times: views.time_tables(profile, measured) if measured else "",
            self.step_times: show_chart(charts.step_times_chart(profile)),
            self.timeline: show_chart(charts.timeline_chart(profile)),
            self.memory: show_chart(charts.memory_chart(profile)),
        }


def _size_choices() -> list[tuple[str, str]]:
    return [
        (f"{name} ({width} x {height})", f"{width}x{height}") for name, (width, height) in config.SIZE_PRESETS.items()
    ]


def _png(image: Any) -> bytes:
    from diffprof.generation.image_files import png_bytes

    return png_bytes(image)
