"""One generation, from the model to the file."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from diffprof.errors import DiffprofError, OutOfMemoryError, OutputError, PipelineError
from diffprof.generation import sizes
from diffprof.generation.call import PlannedCall, configure_pipeline, plan_call, run_call
from diffprof.generation.image_files import SavedFiles, images_in, save
from diffprof.generation.locks import pipeline_lock
from diffprof.generation.models import CacheEntry, Model, ModelManager, release_memory
from diffprof.generation.profiling_data import profiling_data, unprofiled_data
from diffprof.generation.progress import ProgressReporter
from diffprof.pipelines.opening import OpenedPipeline, open_live
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request
from diffprof.render.run_sentences import describe_limitation
from diffprof.runtime.instrumentation.pipeline_devices import execution_device
from diffprof.runtime.measurement import Measurement
from diffprof.runtime.memory_history import snapshot_of_failure
from diffprof.settings.limits import SAMPLES_PER_SECOND
from diffprof.traces.memory.out_of_memory import explained_files

UNSAFE = "the safety checker rejected the image: the pipeline returned a black one"


class Generated(NamedTuple):
    """The result of `generate_image`."""

    image: Any
    """The image, or the list of frames of a video."""
    filepath: Path
    seed: int
    profiling_data: dict[str, Any] | None


@dataclass(frozen=True)
class GenerationJob:
    """A complete request, with everything needed to run it with any model."""

    request: Request
    folder: Path
    profiled: bool
    fps: int
    progress: ProgressReporter

    def run_model(self, model: Model, manager: ModelManager) -> Generated:
        """Generate with a model, loading it first if necessary."""
        request = self.request
        placement: dict[str, Any] = {"device": request.device, "dtype": request.dtype, "offload": request.offload}
        must_load = manager.find_loaded(model.model_id, **placement) is None
        if must_load:
            self._check_size(self._trial(model, manager))
        with manager.using(model.model_id, **placement, progress=self.progress.report) as entry:
            trial = self._trial(model, manager, entry)
            size = (*trial.size, str(trial.arguments.get("num_frames")))
            if size not in entry.fitting_sizes:
                if not must_load:
                    self._check_size(trial)
                entry.fitting_sizes.add(size)
            return self._generate(_Source(entry.loaded.opened, model, trial, entry.loaded.seconds))

    def run_pipeline(self, pipeline: Any, model: Model) -> Generated:
        """Generate with a live pipeline of the caller."""
        with pipeline_lock(pipeline):
            trial = sizes.Trial(pipeline, model.title, self._size_arguments(), execution_device(pipeline))
            return self._generate(_Source(open_live(pipeline), model, trial))

    def _trial(self, model: Model, manager: ModelManager, entry: CacheEntry | None = None) -> sizes.Trial:
        target = manager.target(self.request.device, self.request.offload)
        return sizes.Trial(
            target=entry.pipeline if entry else model.place,
            name=model.title,
            arguments=self._size_arguments(),
            device=target.device,
            dtype=None if entry else manager.dtype(self.request.dtype),
            loads_weights=entry is None and target.offload is None,
        )

    def _size_arguments(self) -> dict[str, Any]:
        """The requested call arguments that determine the size of the call."""
        return {name: value for name, value in self.request.arguments.items() if name in sizes.ARGUMENTS}

    def _check_size(self, trial: sizes.Trial) -> None:
        self.progress.report(ProgressEvent(Activity.checking_memory, trial.name))
        sizes.check_size(trial)

    def _generate(self, source: _Source) -> Generated:
        call = plan_call(source.opened.pipeline, self.request, source.model.recommended)
        self.progress.report(ProgressEvent(Activity.generating, source.model.title))
        result = self._call(source, call)
        images = images_in(result.output)
        image = images[0] if len(images) == 1 else images
        try:
            saved = save(images, self.folder, f"{source.model.name}_seed{call.seed}", self.fps)
        except OutputError as error:
            raise OutputError(str(error), image=image) from error
        data = self._profiling_data(source, call, result, saved) if self.profiled else None
        return Generated(image, saved.path, call.seed, data)

    def _call(self, source: _Source, call: PlannedCall) -> _CallResult:
        """Make the call; if it fails because of its size or lack of memory, the error suggests another size."""

        def report_step(done: int, total: int | None) -> None:
            self.progress.report_step(source.model.title, done, total)

        reason, files = "", list[Path]()
        try:
            with configure_pipeline(source.opened.pipeline, call, report_step):
                return _measure_call(source, call) if self.profiled else _time_call(source, call)
        except OutOfMemoryError as error:
            reason = error.reason
            files = explained_files(snapshot_of_failure(self.folder, source.opened.pipeline))
        except PipelineError as error:
            sizes.refuse_bad_size(source.trial, str(error))
            raise
        # Outside of the except block, where the original error would keep its tensors alive.
        release_memory()
        failure = sizes.out_of_memory_error(source.trial, reason)
        raise DiffprofError(f"{failure}; {files[-1]} says what took the memory") if files else failure

    def _profiling_data(
        self, source: _Source, call: PlannedCall, result: _CallResult, saved: SavedFiles
    ) -> dict[str, Any]:
        notes = [*call.notes, *([saved.note] if saved.note else []), *result.notes]
        if result.profile is None:
            reason = result.problem or "nothing was measured"
            return {**unprofiled_data(reason, result.seconds), "model_id": source.model.model_id, "notes": notes}
        data = profiling_data(result.profile, source.model.model_id, notes)
        try:
            data["profile_path"] = str(result.profile.save(saved.path.with_suffix(".profile.json")))
        except DiffprofError as error:
            data["profile_path"] = None
            data["notes"].append(f"the profile was not saved: {error}")
        return data


@dataclass(frozen=True)
class _Source:
    """The pipeline to call, and its model."""

    opened: OpenedPipeline
    model: Model
    trial: sizes.Trial
    load_seconds: float | None = None


@dataclass
class _CallResult:
    """The result of a call, its time, and its profile if it was measured."""

    output: Any
    seconds: float
    profile: Profile | None = None
    problem: str | None = None
    """Why it was not measured."""
    notes: list[str] = field(default_factory=list)


def _measure_call(source: _Source, call: PlannedCall) -> _CallResult:
    """Make the call and measure it; if measuring fails, the image is still generated."""
    try:
        measuring = Measurement(source.opened, sample_hz=SAMPLES_PER_SECOND, scheduler=call.scheduler)
        measuring.load_seconds = source.load_seconds
        measuring.start()
    except Exception as error:  # noqa: BLE001  profiling never breaks a generation
        result = _time_call(source, call)
        result.problem = str(error)
        return result
    try:
        result = _time_call(source, call)
    finally:
        measuring.stop()
    try:
        profiles = measuring.profiles()
        result.profile = profiles[-1] if profiles else None
    except Exception as error:  # noqa: BLE001  as above
        result.problem = str(error)
    result.problem = result.problem or "; ".join(map(describe_limitation, measuring.limitations)) or None
    return result


def _time_call(source: _Source, call: PlannedCall) -> _CallResult:
    started = time.perf_counter()
    output = run_call(source.opened.pipeline, call)
    unsafe = getattr(output, "nsfw_content_detected", None)
    notes = [UNSAFE] if isinstance(unsafe, list) and any(unsafe) else []
    return _CallResult(output, time.perf_counter() - started, notes=notes)
