"""Generate and profile images and videos, with one model or with several in turn.

`diffprof.inference` provides these functions under the names of the guides. A model id is a name of `diffprof models`,
a hub id, a folder, or ``shapes``, the model that comes with diffprof.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from diffprof import settings as config
from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.generation.batch import Batch, ModelResult
from diffprof.generation.call import check_cache, check_scheduler
from diffprof.generation.image_files import new_folder
from diffprof.generation.job import Generated, GenerationJob
from diffprof.generation.models import Model, ModelManager, file_name, get_model_manager, model_of
from diffprof.generation.progress import Pace, ProgressReporter, raise_callback_errors
from diffprof.generation.request import complete, seed_of
from diffprof.record.atomic_files import check_folder
from diffprof.record.progress import Progress
from diffprof.record.request import Request, check_number
from diffprof.runtime.measure import check_pipeline


@dataclass(frozen=True)
class GenerationOptions:
    """How a generation is saved and measured; None takes the value from `diffprof.config`."""

    output_dir: str | Path | None = None
    enable_profiling: bool | None = None
    fps: int | None = None
    """Frames per second of a video's file."""
    manager: ModelManager | None = None
    """The manager that loads models; None for that of this process."""


def generate(
    request: Request,
    options: GenerationOptions | None = None,
    progress: Progress | None = None,
    *,
    pipe: Any = None,
) -> Generated:
    """Generate and save one image or video; `pipe` is a live pipeline to use instead of loading the model.

    A request with an empty model uses the default model.
    """
    request, options = complete(request), options or GenerationOptions()
    folder = _output_folder(options)
    check_scheduler(request.scheduler, pipe)
    check_cache(request.cache)
    if pipe is not None and (request.device or request.dtype or request.offload):
        raise RequestError("device, dtype and offload apply to a model that is loaded; change a live pipeline yourself")
    job = _job(request, options, folder, ProgressReporter(progress))
    job.progress.pace.begin()
    with raise_callback_errors():
        if pipe is not None:
            check_pipeline(pipe)
            return job.run_pipeline(pipe, _model_of_pipeline(pipe, request.model))
        return job.run_model(model_of(request.model or config.DEFAULT_MODEL), options.manager or get_model_manager())


def generate_batch(
    model_ids: Sequence[str | Path],
    request: Request,
    options: GenerationOptions | None = None,
    progress: Progress | None = None,
    *,
    unload: bool = True,
) -> Batch:
    """Run a request with each of the models, and save the results to a new folder with a ``generation_config.json``.

    A model that fails does not stop the others: its error is in its result and in the file, which is rewritten after
    each model.
    """
    if isinstance(model_ids, str | Path) or not model_ids:
        raise RequestError("no model was given; give a list of model ids")
    request, options = complete(request), options or GenerationOptions()
    parent = _output_folder(options)
    check_scheduler(request.scheduler)
    check_cache(request.cache)
    started = datetime.now().replace(microsecond=0)
    folder = new_folder(parent, started.strftime("%Y%m%d_%H%M%S"))
    batch = Batch(folder, started.isoformat(), tuple(map(str, model_ids)), request)
    _write_first_record(batch)
    job = _job(request, options, folder, ProgressReporter(progress, Pace(len(model_ids))))
    with raise_callback_errors():
        _run_models(batch, job, model_ids, options.manager or get_model_manager(), unload)
    return batch


def _job(request: Request, options: GenerationOptions, folder: Path, progress: ProgressReporter) -> GenerationJob:
    check_number("fps", options.fps)
    profiled = config.ENABLE_COMPUTE_PROFILING if options.enable_profiling is None else options.enable_profiling
    return GenerationJob(request, folder, profiled, options.fps or config.DEFAULT_FPS, progress)


def _output_folder(options: GenerationOptions) -> Path:
    folder = Path(options.output_dir) if options.output_dir is not None else config.OUTPUT_DIR
    check_folder(folder)
    return folder


def _write_first_record(batch: Batch) -> None:
    """Write the file of a batch that has no results yet; if that fails, remove the folder."""
    try:
        batch.write()
    except OutputError:
        with contextlib.suppress(OSError):
            batch.folder.rmdir()
        raise


def _run_models(
    batch: Batch, job: GenerationJob, model_ids: Sequence[str | Path], manager: ModelManager, unload: bool
) -> None:
    problem: OutputError | None = None
    for model_id in model_ids:
        job.progress.pace.begin()
        batch.results.append(_run_model(job, model_id, manager, unload))
        job.progress.pace.end()
        try:
            batch.write()
            problem = None
        except OutputError as error:
            problem = error  # the previous file is still complete, and writing after the next model may succeed
    if problem is not None:
        raise OutputError(str(problem), batch=batch) from problem


def _run_model(job: GenerationJob, model_id: str | Path, manager: ModelManager, unload: bool) -> ModelResult:
    title = str(model_id)
    try:
        model = model_of(model_id)
        title = model.title
        return ModelResult(str(model_id), title, *job.run_model(model, manager))
    except Exception as error:  # noqa: BLE001  no error of one model may stop the others
        return ModelResult(str(model_id), title, seed=seed_of(job.request), error=_without_traceback(error))
    finally:
        if unload:
            with contextlib.suppress(DiffprofError):  # a model that does not exist was not loaded
                manager.unload_model(model_id)


def _without_traceback(error: Exception) -> DiffprofError:
    """Remove the traceback of an error, which would keep the model and its tensors alive."""
    bare = error if isinstance(error, DiffprofError) else DiffprofError(f"{type(error).__name__}: {error}")
    bare.__traceback__ = bare.__cause__ = bare.__context__ = None
    return bare


def _model_of_pipeline(pipe: Any, model: str | Path) -> Model:
    """The name of a live pipeline: given by the caller, else where it was loaded from, else its class."""
    loaded_from = str(getattr(pipe, "name_or_path", None) or "")
    name = str(model or loaded_from or type(pipe).__name__)
    return Model(name, file_name(name), name, name)
