"""The functions of ``import diffprof``: plain arguments from the caller, records passed down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffprof.counting.request_profile import count_request
from diffprof.errors import RequestError
from diffprof.record.preparation import PREPARATIONS
from diffprof.record.profile import Profile
from diffprof.record.progress import ProgressCallback
from diffprof.record.request import CHANGES, Request
from diffprof.render.progress import describe_to
from diffprof.settings.limits import SAMPLES_PER_SECOND, with_full_names

if TYPE_CHECKING:
    import torch

    from diffprof.advice.scale import Scaling
    from diffprof.comparison.compare import Comparison
    from diffprof.runtime.measure import Run
    from diffprof.runtime.timing.trace_recorder import TraceRecorder


LOADING_OPTIONS = (
    *("dtype", "scheduler", "enable", "seed", "device", "offload", "random_weights", "config", "assume_defaults"),
    *("pipeline_defaults", *CHANGES, *PREPARATIONS),
)
"""Arguments of `measure` that are about loading a model, not about the call."""


def profile(
    model: Any,
    *,
    dtype: str | torch.dtype | None = None,
    scheduler: str | None = None,
    enable: Sequence[str] = (),
    config: str | None = None,
    assume_defaults: bool = False,
    pipeline_defaults: bool = False,
    quantize: str | Mapping[str, str] | None = None,
    layerwise: str | Mapping[str, str] | None = None,
    lora: str | int | Sequence[str | int] | None = None,
    controlnet: str | Sequence[str] | None = None,
    ip_adapter: str | bool | None = None,
    attention: str | None = None,
    guidance_interval: tuple[float, float] | None = None,
    cache: str | None = None,
    progress: ProgressCallback | bool | None = None,
    use_cache: bool = True,
    **arguments: Any,
) -> Profile:
    """Profile one call of a pipeline: what every component costs, exactly, without weights and without computing.

    `model` is a catalogue name, a hub id, a folder in diffusers layout, a weight file (`config` is the model to take
    its configuration from), or a live diffusers pipeline, modular or not, which is left exactly as it was.
    `assume_defaults` builds a model with a missing configuration from the defaults of its class. A model that is not a
    live pipeline can be changed first: ``quantize="nf4"`` or ``{"transformer": "nf4"}``,
    ``layerwise="fp8"``, a `lora` file or rank, a `controlnet`, an `ip_adapter`, another `attention` backend, a
    `guidance_interval` such as ``(0.2, 0.8)``, a `cache` of diffusers.

    `progress` is called with a message, the amount done and the total; True draws a bar, in notebooks too. A model
    that is not a live pipeline and was counted before is read from the disk cache (`diffprof cache`); pass
    ``use_cache=False`` if your program patches classes of diffusers. All other arguments are those of the pipeline's
    own call; ``steps``, ``guidance``, ``batch`` and ``frames`` mean the same as on the command line, and an image, mask
    or video can be given by its size: ``image="1024x768"``. Arguments that are not given use the settings that the
    catalogue recommends for the model, otherwise, or with `pipeline_defaults`, the pipeline's defaults.
    """
    arguments = with_full_names(arguments)
    switches: dict[str, Any] = {
        "scheduler": scheduler, "enable": enable, "config": config, "quantize": quantize, "layerwise": layerwise,
        "lora": lora, "controlnet": controlnet, "ip_adapter": ip_adapter, "attention": attention,
        "guidance_interval": guidance_interval, "cache": cache,
    }  # fmt: skip
    if isinstance(model, str | Path):
        switches |= {"assume_defaults": assume_defaults, "pipeline_defaults": pipeline_defaults}
        request = Request.create(model, arguments, dtype=dtype, **switches)
        return count_request(request, use_cache, describe_to(progress))
    from diffprof.counting.profile import profile_call

    return profile_call(model, arguments, describe_to(progress), dtype=dtype, **switches)


def compare(
    *profiles: Profile | Run | str | Path, names: Sequence[str] | None = None, gpu: str | Sequence[str] = ()
) -> Comparison:
    """Compare profiles, each with the first: conditions, measured times and memory, then counts.

    Each is a profile, a measured run, the file of a saved profile, or the name of a model, which is counted with its
    recommended settings. `names` is what the comparison calls them; by default their files and models. With `gpu`, the
    name of an accelerator or several, memory and time are predicted as well.
    """
    from diffprof.comparison.compare import compare as compare_profiles
    from diffprof.comparison.labels import profile_name

    if names is not None and len(names) != len(profiles):
        raise RequestError(f"{len(names)} names were given for {len(profiles)} profiles; give one for each.")
    opened = [_open_profile(one) for one in profiles]
    sources = [str(one) if isinstance(one, str | Path) else None for one in profiles]
    labels = [profile_name(source, found) for source, found in zip(sources, opened, strict=True)]
    accelerators = (gpu,) if isinstance(gpu, str) else tuple(gpu)
    return compare_profiles(opened, labels if names is None else names, accelerators=accelerators)


def _open_profile(source: Profile | Run | str | Path) -> Profile:
    if isinstance(source, Profile):
        return source
    if isinstance(source, str | Path):
        from diffprof.counting.sources import open_profile

        return open_profile(str(source), lambda model: count_request(Request.create(model)))
    return source.profile


def scale(
    model: str | Path,
    *,
    dtype: str | torch.dtype | None = None,
    pipeline_defaults: bool = False,
    progress: ProgressCallback | bool | None = None,
    **arguments: Any,
) -> Scaling:
    """How the cost of a model grows with size, steps, images and frames, around one request.

    It is read off the exact law of the model; a model without one is counted at a few sizes. All other arguments are
    those of the pipeline's own call.
    """
    from diffprof.advice.scale import scale_model

    request = Request.create(model, with_full_names(arguments), dtype=dtype, pipeline_defaults=pipeline_defaults)
    return scale_model(request, describe_to(progress))


def profile_module(module: torch.nn.Module | Callable[..., Any], *args: Any, **kwargs: Any) -> Profile:
    """Profile one call of any `torch.nn.Module` with these arguments: what ``module(*args, **kwargs)`` costs.

    A method of a module is profiled in the same way: ``profile_module(vae.decode, latents)``. Nothing is computed, and
    the module is left exactly as it was. Tensors may be on the meta device, and so may the module's weights.
    """
    from diffprof.counting.module_call import profile_module

    return profile_module(module, args, kwargs)


def measure(
    pipeline: Any,
    *,
    warmup: int = 1,
    iterations: int | None = None,
    time_budget: float = 60.0,
    trace: bool | str | Path | TraceRecorder = False,
    sample_hz: float = SAMPLES_PER_SECOND,
    progress: ProgressCallback | bool | None = None,
    **arguments: Any,
) -> Run:
    """Run a pipeline `warmup` + `iterations` times with these call arguments, and measure it.

    `pipeline` is a live pipeline, or the name, folder or hub id of a model to load first, as `diffprof run` does; then
    the options of that command can be given too, such as ``device``, ``dtype``, ``offload``, ``quantize``, ``cache``,
    ``attention``, ``compile="regional"``, ``device_map``, ``parallel``, ``revision``, ``variant``, ``random_weights``.

    Without `iterations` there are at least 5, until their median is known well or they have taken `time_budget`
    seconds. Every iteration starts from the same random state. With `trace`, one more call of a few steps is traced
    into ``trace.json`` in the given folder (``profiling_results`` for True). `sample_hz` is how often per second the
    machine is sampled, 0 for never. If a call fails, the `run` attribute of the error holds what was measured so far.
    """
    from diffprof.pipelines.opening import open_live
    from diffprof.runtime.measure import check_pipeline, check_weights, measure_opened

    arguments = with_full_names(arguments)
    if isinstance(pipeline, str | Path):
        from diffprof.runtime.model_run import ModelRun

        options = {name: arguments.pop(name) for name in LOADING_OPTIONS if name in arguments}
        request = Request.create(pipeline, arguments, **options)
        return ModelRun(request, warmup, iterations, trace, sample_hz).measure(describe_to(progress))[0]
    check_pipeline(pipeline)
    check_weights(pipeline)
    return measure_opened(
        open_live(pipeline), arguments, warmup=warmup, iterations=iterations, trace=trace, sample_hz=sample_hz,
        progress=describe_to(progress), budget_seconds=time_budget,
    )  # fmt: skip


def measure_in_turns(
    *pipelines: Any,
    warmup: int = 1,
    iterations: int = 20,
    progress: ProgressCallback | bool | None = None,
    **arguments: Any,
) -> tuple[Profile, ...]:
    """Call live pipelines with the same arguments, one after the other, again and again; one profile for each.

    Profiles that were made together are compared pair by pair (`diffprof compare`, `diffprof gate`): on a shared
    machine, that shows differences far smaller than its noise. Each round has its own random order, so that no
    periodic load affects only one of them.
    """
    from diffprof.runtime.interleaved import measure_interleaved

    return measure_interleaved(pipelines, with_full_names(arguments), warmup, iterations, describe_to(progress))
