"""Generate pictures and films, and profile what that really takes.

    image, filepath, seed, profiling_data = generate_image("shapes", "a red circle on a blue background")
    results = generate_images_sequential(["sd-2.1-base", "pixart-alpha-512"], "a futuristic cityscape")

A model id is a name of `diffprof models`, a hub id, a folder, or ``shapes``, the model that comes with diffprof.
What is not given is what `diffprof.config` says, else what the model's makers use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from diffprof import settings as config
from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.generation.batch import Batch, ModelResult
from diffprof.generation.call import checked_cache, checked_scheduler
from diffprof.generation.image_files import new_folder
from diffprof.generation.job import Generated, Job
from diffprof.generation.models import Model, ModelManager, for_files, get_model_manager, model_of
from diffprof.generation.progress import Pace, Reports, passing_on
from diffprof.generation.request import MOST_FPS, check_whole, wanted
from diffprof.record.atomic_files import check_folder
from diffprof.record.progress import Progress, ProgressCallback
from diffprof.render.progress import describe_to
from diffprof.runtime.measure import check_pipeline

__all__ = ["Batch", "Generated", "ModelResult", "ProgressCallback", "generate_image", "generate_images_sequential"]


def generate_image(
    model_id: str | Path | None = None,
    prompt: str | None = None,
    negative_prompt: str | None = None,
    num_inference_steps: int | None = None,
    guidance_scale: float | None = None,
    width: int | None = None,
    height: int | None = None,
    seed: int | None = None,
    scheduler: str | None = None,
    progress_callback: ProgressCallback | None = None,
    output_dir: str | Path | None = None,
    enable_profiling: bool | None = None,
    pipe: Any = None,
    *,
    cache: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    offload: str | None = None,
    fps: int | None = None,
    manager: ModelManager | None = None,
    progress: Progress | None = None,
    **arguments: Any,
) -> Generated:
    """Generate one picture or film, save it, and say what it took: ``(image, filepath, seed, profiling_data)``.

    `pipe` is a live pipeline to be used instead of loading `model_id`. `cache` is the name of a cache of diffusers,
    with its settings if need be: ``first_block:threshold=0.1``. All other `arguments` are those of the pipeline's own
    call. `profiling_data` is None where profiling is disabled; `diffprof.generation.profiling_data` says what is in
    it. `progress` takes events instead of the words that `progress_callback` takes. The same seed gives the same
    picture, profiled or not. An `OutputError` has the picture that could not be saved as `image`.
    """
    asked = wanted(
        prompt, negative_prompt, num_inference_steps, guidance_scale, width, height, seed, scheduler, cache, arguments
    )
    folder = _folder(output_dir)
    checked_scheduler(scheduler, pipe)
    checked_cache(cache)
    if pipe is not None and not (device is dtype is offload is None):
        raise RequestError("device, dtype and offload are of a model that is loaded; change a live pipeline yourself")
    job = Job(
        asked, folder, _profiled(enable_profiling), _rate(fps), Reports(progress or describe_to(progress_callback)),
        device=device, dtype=dtype, offload=offload,
    )  # fmt: skip
    job.reports.pace.begin()
    with passing_on():
        if pipe is not None:
            check_pipeline(pipe)
            return job.with_pipeline(pipe, _model_of_pipeline(pipe, model_id))
        return job.with_model(model_of(model_id or config.DEFAULT_MODEL), manager or get_model_manager())


def generate_images_sequential(
    model_ids: Sequence[str | Path],
    prompt: str | None = None,
    negative_prompt: str | None = None,
    num_inference_steps: int | None = None,
    guidance_scale: float | None = None,
    width: int | None = None,
    height: int | None = None,
    seed: int | None = None,
    scheduler: str | None = None,
    progress_callback: ProgressCallback | None = None,
    output_dir: str | Path | None = None,
    enable_profiling: bool | None = None,
    unload_after_inference: bool = True,
    *,
    cache: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    offload: str | None = None,
    fps: int | None = None,
    manager: ModelManager | None = None,
    progress: Progress | None = None,
    **arguments: Any,
) -> Batch:
    """One prompt and one seed by one model after the other, into a new folder with a ``generation_config.json``.

    A model that fails does not keep the others away: its error is in its result and in the file, which is written anew
    after each model.
    """
    if isinstance(model_ids, str | Path) or not model_ids:
        raise RequestError("no model was given; give a list of model ids")
    asked = wanted(
        prompt, negative_prompt, num_inference_steps, guidance_scale, width, height, seed, scheduler, cache, arguments
    )
    parent = _folder(output_dir)
    checked_scheduler(scheduler)
    checked_cache(cache)
    began = datetime.now().replace(microsecond=0)
    folder = new_folder(parent, began.strftime("%Y%m%d_%H%M%S"))
    batch = Batch(folder, began.isoformat(), tuple(map(str, model_ids)), asked)
    _begin(batch)
    job = Job(
        asked, folder, _profiled(enable_profiling), _rate(fps),
        Reports(progress or describe_to(progress_callback), Pace(len(model_ids))),
        device=device, dtype=dtype, offload=offload,
    )  # fmt: skip
    with passing_on():
        _fill(batch, job, model_ids, manager or get_model_manager(), unload_after_inference)
    return batch


def _begin(batch: Batch) -> None:
    """Write the record of a batch that has no results yet; where that fails, its folder goes too."""
    try:
        batch.write()
    except OutputError:
        with contextlib.suppress(OSError):
            batch.folder.rmdir()
        raise


def _fill(batch: Batch, job: Job, model_ids: Sequence[str | Path], manager: ModelManager, unload: bool) -> None:
    problem: OutputError | None = None
    for model_id in model_ids:
        job.reports.pace.begin()
        batch.results.append(_result(job, model_id, manager, unload))
        job.reports.pace.end()
        try:
            batch.write()
            problem = None
        except OutputError as error:
            problem = error  # the file of before is whole, and there may be room again after the next one
    if problem is not None:
        problem.batch = batch
        raise problem


def _result(job: Job, model_id: str | Path, manager: ModelManager, unload: bool) -> ModelResult:
    title = str(model_id)
    try:
        model = model_of(model_id)
        title = model.title
        made = job.with_model(model, manager)
        return ModelResult(str(model_id), title, *made)
    except Exception as error:  # noqa: BLE001  whatever it is, the other models have their turn
        return ModelResult(str(model_id), title, seed=job.asked.seed, error=_kept(error))
    finally:
        if unload:
            _unload(manager, model_id)


def _unload(manager: ModelManager, model_id: str | Path) -> None:
    with contextlib.suppress(DiffprofError):  # one that is not there is not loaded either
        manager.unload_model(model_id)


def _kept(error: Exception) -> DiffprofError:
    """The error without its traceback, which would hold the model and all that it computed."""
    kept = error if isinstance(error, DiffprofError) else DiffprofError(f"{type(error).__name__}: {error}")
    kept.__traceback__ = kept.__cause__ = kept.__context__ = None
    return kept


def _folder(output_dir: str | Path | None) -> Path:
    folder = Path(output_dir) if output_dir is not None else config.OUTPUT_DIR
    check_folder(folder)
    return folder


def _profiled(enable_profiling: bool | None) -> bool:
    return config.ENABLE_COMPUTE_PROFILING if enable_profiling is None else enable_profiling


def _rate(fps: int | None) -> int:
    check_whole("fps", fps, 1, MOST_FPS)
    return fps or config.DEFAULT_FPS


def _model_of_pipeline(pipe: Any, model_id: str | Path | None) -> Model:
    """What a live pipeline is called: by the caller, by the place that it was loaded from, or by its class."""
    loaded_from = str(getattr(pipe, "name_or_path", None) or "")
    name = str(model_id) if model_id is not None else loaded_from or type(pipe).__name__
    return Model(name, for_files(name), name, name)
