"""Run a generation for the page: from the form to the result with its profile."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diffprof.app.model_choices import choose_model
from diffprof.app.number_fields import parse_integer, parse_number
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, Position, Progress, ProgressEvent
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.request import Request

MODEL_DEFAULT = "model default"
"""The choice in a list that leaves the setting to the model."""


@dataclass(frozen=True)
class GenerateForm:
    """The values of the form's fields."""

    prompt: str | None
    negative_prompt: str | None
    model: str | None
    size: str | None
    steps: str | None
    guidance: str | None
    seed: str | None
    scheduler: str | None
    profiled: bool

    def request(self, model: str) -> Request:
        """Build the complete request, including the seed, so that it can be repeated."""
        from diffprof.generation.request import complete, parse_size

        size = _choice(self.size)
        width, height = parse_size(size) if size else (None, None)
        arguments = {
            "prompt": self.prompt or "",
            "negative_prompt": (self.negative_prompt or "").strip() or None,
            "num_inference_steps": parse_integer("Steps", self.steps),
            "guidance_scale": parse_number("Guidance", self.guidance),
            "width": width,
            "height": height,
        }
        seed = parse_integer("Seed", self.seed)
        return complete(Request.create(model, arguments, seed=seed, scheduler=_choice(self.scheduler)))


@dataclass(frozen=True)
class PageResult:
    """A generated image or video, and its profile if it was measured."""

    image: Any
    path: Path
    seed: int
    profile: Profile | None
    notes: Sequence[str]

    @property
    def is_video(self) -> bool:
        return isinstance(self.image, list)

    @property
    def needs_player(self) -> bool:
        """Whether it is an mp4; a video that could only be saved as a gif is shown like an image."""
        return self.path.suffix == ".mp4"

    @property
    def first_frame(self) -> Any:
        return self.image[0] if isinstance(self.image, list) else self.image


RESULTS = Path("profiling_results")
"""The folder in which the guides expect measurements."""


@dataclass
class PageGeneration:
    """One generation for the page, and the times of its steps so far."""

    form: GenerateForm
    iterations: int
    allow_paths: bool
    step_seconds: list[float] = field(default_factory=list)
    result_notes: list[str] = field(default_factory=list)
    """Notes to show next to the result."""

    def run(self, progress: Progress) -> PageResult:
        """Generate the image; if iterations are requested, that many further calls are measured instead of this one."""
        from diffprof.generation.generate import GenerationOptions, generate

        request = self.form.request(choose_model(self.form.model, self.allow_paths))
        options = GenerationOptions(enable_profiling=self.form.profiled)
        generated = generate(request, options, self._time_steps(progress))
        data = generated.profiling_data or {}
        profile = data.get("profile")
        if profile is not None and self.iterations:
            profile = self._repeat(request, profile.request, progress)
        notes = [
            *([data["reason"]] if data.get("enabled") is False else []),
            *data.get("notes", []),
            *self.result_notes,
        ]
        return PageResult(generated.image, generated.filepath, generated.seed, profile, notes)

    def _time_steps(self, progress: Progress) -> Progress:
        """Forward the events, and record how long each step took."""
        last_event = time.perf_counter()

        def forward(event: ProgressEvent) -> None:
            nonlocal last_event
            now = time.perf_counter()
            if event.activity is Activity.denoising and event.done == len(self.step_seconds) + 1:
                self.step_seconds.append(now - last_event)
            last_event = now
            progress(event)

        return forward

    def _repeat(self, request: Request, named: RecordedRequest, progress: Progress) -> Profile:
        """Measure more calls of the same request, trace one more, and write the files of the guides."""
        import diffprof
        from diffprof.generation.generate import GenerationOptions, generate
        from diffprof.generation.models import get_model_manager
        from diffprof.render.guides.run_folder import write_run_folder
        from diffprof.runtime.measure import WHOLE_CALL
        from diffprof.runtime.timing.trace_recorder import TraceRecorder

        with tempfile.TemporaryDirectory() as folder, get_model_manager().using(request.model) as held:
            options = GenerationOptions(output_dir=folder, enable_profiling=False)
            with diffprof.measuring(held.pipeline) as run:
                for turn in range(self.iterations):
                    now = ProgressEvent(Activity.measuring, iteration=Position(turn + 1, self.iterations))
                    generate(request, options, _describe_as(now, progress))
            recorder = TraceRecorder(RESULTS, record_shapes=True, active=WHOLE_CALL)
            with recorder.profile("trace"):
                generate(request, options, _describe_as(ProgressEvent(Activity.tracing), progress))
        # The measured pipeline is a live object, which does not know the name of its model.
        measured = replace(run.profile.request, model=named.model, source=named.source)
        profile = replace(run.profile, request=measured)
        write_run_folder(RESULTS, profile)
        self.result_notes.append(f"its times, memory and trace are in {RESULTS}")
        return profile


def _choice(value: str | None) -> str | None:
    """The chosen value; None if the setting is left to the model."""
    value = (value or "").strip()
    return value if value and value != MODEL_DEFAULT else None


def _describe_as(activity: ProgressEvent, progress: Progress) -> Progress:
    """Report the progress of a generation as that of another activity."""
    return lambda event: progress(replace(activity, done=event.done, total=event.total))
