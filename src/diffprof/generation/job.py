"""One generation from the model to the file."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from diffprof.errors import DiffprofError, OutOfMemoryError, OutputError, PipelineError
from diffprof.generation import sizes
from diffprof.generation.call import PlannedCall, make, planned, prepared
from diffprof.generation.image_files import Saved, pictures_in, save
from diffprof.generation.models import Held, Model, ModelManager, give_memory_back, lock_of
from diffprof.generation.profiling_data import not_profiled, profiling_data
from diffprof.generation.progress import Reports
from diffprof.generation.request import Wanted
from diffprof.pipelines.opening import OpenedPipeline, open_live
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.runtime.instrumentation.pipeline_monitor import execution_device
from diffprof.runtime.measure import SAMPLES_PER_SECOND
from diffprof.runtime.measurement import Measurement

BLACK = "the safety checker found the picture not safe: the pipeline gave a black one"


class Generated(NamedTuple):
    """What `generate_image` gives back."""

    image: Any
    """The picture; of a film the list of its frames."""
    filepath: Path
    seed: int
    profiling_data: dict[str, Any] | None


@dataclass(frozen=True)
class Job:
    """What is to be made, and how."""

    asked: Wanted
    folder: Path
    profiled: bool
    fps: int
    reports: Reports
    device: str | None = None
    dtype: str | None = None
    offload: str | None = None

    @property
    def placing(self) -> dict[str, Any]:
        return {"device": self.device, "dtype": self.dtype, "offload": self.offload}

    def with_model(self, model: Model, manager: ModelManager) -> Generated:
        """Load the model where that is needed, and generate with it."""
        to_be_loaded = manager.holds(model.model_id, **self.placing) is None
        if to_be_loaded:
            self._check(self._trial(model, manager))
        with manager.using(model.model_id, **self.placing, progress=self.reports.tell) as held:
            trial = self._trial(model, manager, held)
            size = (*trial.size, str(trial.arguments.get("num_frames")))
            if size not in held.fitting:
                if not to_be_loaded:
                    self._check(trial)
                held.fitting.add(size)
            source = _Source(held.loaded.opened, model, trial, held.loaded.seconds)
            return self._made(source)

    def with_pipeline(self, pipeline: Any, model: Model) -> Generated:
        """Generate with a pipeline that the caller has made."""
        with lock_of(pipeline):
            trial = sizes.Trial(pipeline, model.title, self._size_arguments(), execution_device(pipeline))
            return self._made(_Source(open_live(pipeline), model, trial))

    def _trial(self, model: Model, manager: ModelManager, held: Held | None = None) -> sizes.Trial:
        target = manager.target(self.device, self.offload)
        return sizes.Trial(
            target=held.pipeline if held else model.place,
            name=model.title,
            arguments=self._size_arguments(),
            device=target.device,
            dtype=None if held else manager.dtype(self.dtype),
            weights_to_come=held is None and target.offload is None,
        )

    def _size_arguments(self) -> dict[str, Any]:
        """What the size of a call depends on, as far as it was said."""
        return {name: value for name, value in self.asked.said.items() if name in sizes.ARGUMENTS}

    def _check(self, trial: sizes.Trial) -> None:
        self.reports.tell(ProgressEvent(Activity.checking_memory, trial.name))
        sizes.check(trial)

    def _made(self, source: _Source) -> Generated:
        call = planned(source.opened.pipeline, self.asked, source.model.recommended)
        self.reports.tell(ProgressEvent(Activity.generating, source.model.title))
        taken = self._called(source, call)
        pictures = pictures_in(taken.output)
        image = pictures[0] if len(pictures) == 1 else pictures
        try:
            saved = save(pictures, self.folder, f"{source.model.name}_seed{self.asked.seed}", self.fps)
        except OutputError as error:
            error.image = image
            raise
        data = self._data(source, call, taken, saved) if self.profiled else None
        return Generated(image, saved.path, self.asked.seed, data)

    def _called(self, source: _Source, call: PlannedCall) -> _Taken:
        """The call, with what it may have failed of in a sentence that says what to do."""
        reason = ""
        try:
            with prepared(source.opened.pipeline, call, lambda *steps: self.reports.step(source.model.title, *steps)):
                return self._watched(source, call) if self.profiled else _plainly(source, call)
        except OutOfMemoryError as error:
            reason = error.reason
        except PipelineError as error:
            sizes.refuse_size(source.trial, str(error))
            raise
        # Not while the error is handled: it holds what was computed so far.
        give_memory_back()
        raise sizes.out_of_memory(source.trial, reason)

    def _watched(self, source: _Source, call: PlannedCall) -> _Taken:
        """Measured; where that is not possible, the picture is made all the same."""
        try:
            measuring = Measurement(source.opened, sample_hz=SAMPLES_PER_SECOND, scheduler=call.scheduler)
            measuring.load_seconds = source.load_seconds
            measuring.start()
        except Exception as error:  # noqa: BLE001  whatever it is, the picture is what was asked for
            taken = _plainly(source, call)
            taken.problem = str(error)
            return taken
        try:
            taken = _plainly(source, call)
        finally:
            measuring.stop()
        try:
            taken.profiles = measuring.profiles()
        except Exception as error:  # noqa: BLE001  as above
            taken.problem = str(error)
        taken.problem = taken.problem or "; ".join(measuring.notes) or None
        return taken

    def _data(self, source: _Source, call: PlannedCall, taken: _Taken, saved: Saved) -> dict[str, Any]:
        notes = [*call.notes, *([saved.note] if saved.note else []), *taken.notes]
        if not taken.profiles:
            reason = taken.problem or "nothing was measured"
            return {**not_profiled(reason, taken.seconds), "model_id": source.model.model_id, "notes": notes}
        profile = taken.profiles[-1]
        data = profiling_data(profile, source.model.model_id, notes)
        path = saved.path.with_suffix(".profile.json")
        try:
            data["profile_path"] = str(profile.save(path))
        except DiffprofError as error:
            data["profile_path"] = None
            data["notes"].append(f"the profile was not saved: {error}")
        return data


@dataclass(frozen=True)
class _Source:
    """The pipeline that is called, and what is known about it."""

    opened: OpenedPipeline
    model: Model
    trial: sizes.Trial
    load_seconds: float | None = None


@dataclass
class _Taken:
    """What a call gave back, and what it took."""

    output: Any
    seconds: float
    profiles: tuple[Profile, ...] = ()
    problem: str | None = None
    """Why it was not measured."""
    notes: list[str] = field(default_factory=list)


def _plainly(source: _Source, call: PlannedCall) -> _Taken:
    began = time.perf_counter()
    output = make(source.opened.pipeline, call)
    unsafe = getattr(output, "nsfw_content_detected", None)
    notes = [BLACK] if isinstance(unsafe, list) and any(unsafe) else []
    return _Taken(output, time.perf_counter() - began, notes=notes)
