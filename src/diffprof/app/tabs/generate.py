"""The tab Generate: a picture, and what it took."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffprof import settings as config
from diffprof.app import showing
from diffprof.app.choices import chosen_model, model_choices
from diffprof.app.page import Page
from diffprof.app.pieces import drawn, optional, plot, safely, stops, written
from diffprof.app.typed import number, whole
from diffprof.app.visit import Visit
from diffprof.app.working import Done, told
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, Position, Progress, ProgressEvent
from diffprof.render import charts

if TYPE_CHECKING:
    from diffprof.generation.request import GenerationRequest

TAB = "generate"
OWN = "the model's own"
SCHEDULERS = (OWN, "ddim", "ddpm", "euler", "heun", "pndm", "lms", "unipc")
EXAMPLE = "a red circle on a blue background"
FIRST_WORDS = "Write what the picture is to show and press Generate. The picture comes here, with what it took."


@dataclass(frozen=True)
class Order:
    """What the visitor asked for, as it was typed."""

    prompt: str | None
    negative_prompt: str | None
    model: str | None
    size: str | None
    steps: str | None
    guidance: str | None
    seed: str | None
    scheduler: str | None
    profiled: bool

    def request(self) -> GenerationRequest:
        """The request for `generate`."""
        from diffprof.generation.request import GenerationRequest, choose_seed, parse_size

        size = (self.size or "").strip()
        width, height = parse_size(size) if size and size != OWN else (None, None)
        scheduler = (self.scheduler or "").strip()
        return GenerationRequest(
            prompt=self.prompt or "",
            seed=choose_seed(whole("Seed", self.seed)),
            negative_prompt=(self.negative_prompt or "").strip() or None,
            num_inference_steps=whole("Steps", self.steps),
            guidance_scale=number("Guidance", self.guidance),
            width=width,
            height=height,
            scheduler=scheduler if scheduler and scheduler != OWN else None,
        )


@dataclass
class Making:
    """A generation under way, and what came of it."""

    order: Order
    iterations: int
    allow_paths: bool
    step_seconds: list[float] = field(default_factory=list)

    def work(self, progress: Progress) -> Made:
        """Generate the picture; where more iterations are asked for, the same again and again, timed together."""
        from diffprof.generation.generate import GenerationOptions, generate

        model, request = chosen_model(self.order.model, self.allow_paths), self.order.request()
        options = GenerationOptions(enable_profiling=self.order.profiled)
        made = generate(model, request, options, self._time_steps(progress))
        data = made.profiling_data or {}
        profile = data.get("profile")
        if profile is not None and self.iterations:
            profile = self._repeat(model, request, progress)
        remarks = [*([data["reason"]] if data.get("enabled") is False else []), *data.get("notes", [])]
        return Made(made.image, made.filepath, made.seed, profile, remarks)

    def _time_steps(self, progress: Progress) -> Progress:
        """Forward the events, and note how long each step took."""
        last_event = time.perf_counter()

        def forward(event: ProgressEvent) -> None:
            nonlocal last_event
            now = time.perf_counter()
            if event.activity is Activity.denoising and event.done == len(self.step_seconds) + 1:
                self.step_seconds.append(now - last_event)
            last_event = now
            progress(event)

        return forward

    def _repeat(self, model: str, request: GenerationRequest, progress: Progress) -> Profile:
        """Measure more calls of the same request together."""
        import diffprof
        from diffprof.generation.generate import GenerationOptions, generate
        from diffprof.generation.models import get_model_manager

        with tempfile.TemporaryDirectory() as folder, get_model_manager().using(model) as held:
            options = GenerationOptions(output_dir=folder, enable_profiling=False)
            with diffprof.measuring(held.pipeline) as run:
                for turn in range(self.iterations):
                    now = ProgressEvent(Activity.measuring, iteration=Position(turn + 1, self.iterations))
                    generate(model, request, options, _describe_as(now, progress))
            return run.profile


@dataclass(frozen=True)
class Made:
    """A picture or film, and its profile where it was measured."""

    image: Any
    path: Path
    seed: int
    profile: Profile | None
    remarks: list[str]

    @property
    def is_film(self) -> bool:
        return isinstance(self.image, list)

    @property
    def is_video(self) -> bool:
        """Whether a player is needed; a film that could only be saved as a gif is shown as pictures are."""
        return self.path.suffix == ".mp4"

    @property
    def first(self) -> Any:
        return self.image[0] if isinstance(self.image, list) else self.image


def generate_tab(page: Page) -> None:
    """Lay the tab out and connect it."""
    import gradio as gr

    sizes = [(f"{name} ({wide} x {high})", f"{wide}x{high}") for name, (wide, high) in config.SIZE_PRESETS.items()]
    with gr.Row():
        with gr.Column(scale=1, min_width=300):
            prompt = gr.Textbox(
                EXAMPLE, label="Prompt", lines=1, max_lines=4, elem_id="generate-prompt", max_length=10_000
            )
            model = gr.Dropdown(
                model_choices(), value=config.DEFAULT_MODEL, label="Model", allow_custom_value=True,
                elem_id="generate-model",
            )  # fmt: skip
            with gr.Row():
                start = gr.Button("Generate", variant="primary", min_width=80, elem_id="generate-start")
                stop = gr.Button("Stop", min_width=80, elem_id="generate-stop")
            size = gr.Dropdown(
                [OWN, *sizes],
                value=OWN, label="Size", info="Or type one, such as 512x768.", allow_custom_value=True,
                elem_id="generate-size",
            )  # fmt: skip
            with gr.Row():
                steps = optional("Steps", "generate-steps")
                guidance = optional("Guidance", "generate-guidance")
                seed = optional("Seed", "generate-seed", "random")
            with gr.Accordion("More", open=False):
                negative = gr.Textbox(label="Negative prompt", elem_id="generate-negative", max_length=10_000)
                scheduler = gr.Dropdown(
                    list(SCHEDULERS), value=SCHEDULERS[0], label="Scheduler", allow_custom_value=True,
                    elem_id="generate-scheduler",
                )  # fmt: skip
                profiled = gr.Checkbox(page.setup.profiling, label="Measure it", elem_id="generate-profiled")
        with gr.Column(scale=3, min_width=320):
            message = written("generate-message", showing.notice(FIRST_WORDS))
            picture = gr.Image(
                label="Picture", type="pil", format="png", interactive=False, elem_id="generate-picture",
                buttons=["download", "fullscreen"], visible=False,
            )  # fmt: skip
            film = gr.Video(label="Film", interactive=False, elem_id="generate-film", visible=False)
            totals = written("generate-totals")
            links = written("generate-links")
            findings = written("generate-findings")
            times = written("generate-times")
            step_times = plot("Time of each denoising step", "generate-step-times")
            timeline = plot("Timeline of one generation", "generate-timeline")
            memory = plot("Memory over time", "generate-memory")

    def shown(made: Made, folder: Path) -> dict[Any, Any]:
        profile = made.profile
        measured = profile.measured if profile is not None else None
        remarks = "".join(f" {remark[:1].upper()}{remark[1:].rstrip('.')}." for remark in made.remarks)
        # A copy, as the page shows nothing of the folder that pictures are kept in.
        moving = str(shutil.copy(made.path, folder)) if made.is_film else None
        return {
            message: showing.notice(f"Seed {made.seed}. Saved as {made.path.name}.{remarks}"),
            picture: gr.Image(value=moving if made.is_film else made.first, visible=not made.is_video),
            film: gr.Video(value=moving if made.is_video else None, visible=made.is_video),
            totals: showing.totals(profile) if profile else "",
            links: showing.result(page.shelf.links([profile], [profile.request.model])) if profile else "",
            findings: showing.found(profile) if measured and profile else "",
            times: showing.time_tables(profile, measured) if measured and profile else "",
            step_times: drawn(charts.step_times_chart(profile) if profile else None),
            timeline: drawn(charts.timeline_chart(profile) if profile else None),
            memory: drawn(charts.memory_chart(profile) if profile else None),
        }

    def generated(visit: Visit, *typed: Any) -> Iterator[dict[Any, Any]]:
        making = Making(Order(*typed), page.setup.profiling_iterations, page.setup.allow_paths)
        for news in told(visit, TAB, making.work):
            if isinstance(news, Done):
                made: Made = news.value
                if made.profile is not None:
                    visit.add("generate", made.profile, _png(made.first))
                with tempfile.TemporaryDirectory() as folder:
                    yield shown(made, Path(folder))
            else:
                yield {message: showing.news(news, making.step_seconds)}

    generating = gr.on(
        [start.click, prompt.submit], safely(message, generated),
        [page.visit, prompt, negative, model, size, steps, guidance, seed, scheduler, profiled],
        [message, picture, film, totals, links, findings, times, step_times, timeline, memory],
        trigger_mode="once", concurrency_id="generating", concurrency_limit=1, show_progress="minimal",
        show_progress_on=message, api_visibility="private",
    )  # fmt: skip
    stops(stop, page, TAB, message, [generating])


def _describe_as(activity: ProgressEvent, progress: Progress) -> Progress:
    """Report how far a generation is, as part of another activity."""
    return lambda event: progress(replace(activity, done=event.done, total=event.total))


def _png(image: Any) -> bytes:
    from diffprof.generation.image_files import png_bytes

    return png_bytes(image)
