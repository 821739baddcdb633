"""Generate images and videos with their profile, under the names that users of the original guides know.

image, filepath, seed, profiling_data = generate_image("shapes", "a red circle on a blue background")
results = generate_images_sequential(["sd-2.1-base", "pixart-alpha-512"], "a futuristic cityscape")

What is not given is what `diffprof.config` says, else what the model's authors recommend.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from diffprof import settings as config
from diffprof.generation.batch import Batch, ModelResult
from diffprof.generation.generate import GenerationOptions, generate, generate_batch
from diffprof.generation.job import Generated
from diffprof.generation.models import ModelManager
from diffprof.generation.request import NAMED_ARGUMENTS
from diffprof.generation.views import compute_profile_text
from diffprof.record.progress import ProgressCallback
from diffprof.record.request import Request
from diffprof.render.progress import describe_to

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
    quiet: bool | None = None,
    cache: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    offload: str | None = None,
    fps: int | None = None,
    manager: ModelManager | None = None,
    **arguments: Any,
) -> Generated:
    """Generate and save one image or video, and profile it: ``(image, filepath, seed, profiling_data)``.

    `pipe` is a live pipeline to use instead of loading `model_id`. `cache` is the name of a cache of diffusers,
    optionally with its settings: ``first_block:threshold=0.1``. All other `arguments` are passed to the pipeline's own
    call. `profiling_data` is None where profiling is disabled; `diffprof.generation.profiling_data` describes it. The
    same seed gives the same image, profiled or not. The compute profile is printed, unless `quiet` is True or
    ``PRINT_COMPUTE_PROFILE`` of `diffprof.config` is False. An `OutputError` has the image that could not be saved as
    `image`.
    """
    given = locals()
    generated = generate(_request(model_id, given), _options(given), describe_to(progress_callback), pipe=pipe)
    is_quiet = not config.PRINT_COMPUTE_PROFILE if quiet is None else quiet
    if generated.profiling_data is not None and not is_quiet:
        sys.stdout.write(f"{compute_profile_text(generated.profiling_data)}\n")
    return generated


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
    **arguments: Any,
) -> Batch:
    """Generate with one model after the other, with one seed, into a new folder with a ``generation_config.json``.

    A model that fails does not stop the others: its error is in its result and in the file, which is replaced after
    each model.
    """
    given = locals()
    progress = describe_to(progress_callback)
    return generate_batch(model_ids, _request(None, given), _options(given), progress, unload=unload_after_inference)


def _request(model: str | Path | None, given: Mapping[str, Any]) -> Request:
    arguments = {name: given[name] for name in NAMED_ARGUMENTS if given[name] is not None}
    how = {name: given[name] for name in ("seed", "scheduler", "cache", "device", "dtype", "offload")}
    return Request.create(model or "", {**arguments, **given["arguments"]}, **how)


def _options(given: Mapping[str, Any]) -> GenerationOptions:
    return GenerationOptions(**{field.name: given[field.name] for field in fields(GenerationOptions)})
