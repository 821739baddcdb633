"""Plan the arguments of a pipeline call for a request, and make the call."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tqdm.std import tqdm

from diffprof import settings as config
from diffprof.counting.isolation import is_dry_running
from diffprof.errors import DiffprofError, RequestError
from diffprof.generation.guidance import Guidance, guidance_for
from diffprof.generation.noise import new_generator, torch_seed
from diffprof.generation.request import seed_of
from diffprof.pipelines.arguments import call_parameters, find_argument, own_argument_name
from diffprof.pipelines.changes.step_caches import enable_cache, parse_cache
from diffprof.pipelines.components import components_of, pipelines_in
from diffprof.pipelines.failures import pipeline_failure
from diffprof.pipelines.plans.classes import scheduler_class
from diffprof.pipelines.switches import swap_scheduler
from diffprof.record.request import Request

StepCallback = Callable[[int, int | None], None]
"""Called after each denoising step with the number of completed steps and the total, if that is known."""


@dataclass(frozen=True)
class PlannedCall:
    """A call of one pipeline."""

    arguments: dict[str, Any]
    """All arguments except the generator, which has a state and is created for each call."""
    seed: int
    takes_generator: bool = True
    scheduler: str | None = None
    cache: str | None = None
    guider: Any = None
    notes: tuple[str, ...] = ()

    @property
    def with_generator(self) -> dict[str, Any]:
        return {**self.arguments, **({"generator": new_generator(self.seed)} if self.takes_generator else {})}


def plan_call(pipeline: Any, request: Request, recommended: Mapping[str, Any]) -> PlannedCall:
    """Plan the call for a complete request; a `RequestError` if the pipeline lacks or requires another argument."""
    parameters = call_parameters(pipeline)
    owner = type(pipeline).__name__
    arguments = {
        own_argument_name(owner, parameters, name): value
        for name, value in _explicit_arguments(request, parameters).items()
    }
    guidance, notes = _choose_guidance(pipeline, parameters, request, recommended), []
    arguments |= guidance.arguments
    for name, value in _default_arguments(recommended).items():
        parameter = find_argument(parameters, name)
        if parameter is None:
            notes.append(f"{owner} has no {name}: the default of {value} was left out")
        else:
            arguments.setdefault(parameter, value)
    _refuse_missing(owner, parameters, arguments)
    return PlannedCall(
        arguments=arguments,
        seed=seed_of(request),
        takes_generator="generator" in parameters,
        scheduler=request.scheduler,
        cache=request.cache,
        guider=guidance.guider,
        notes=(*guidance.notes, *notes),
    )


@contextlib.contextmanager
def configure_pipeline(pipeline: Any, call: PlannedCall, on_step: StepCallback | None = None) -> Iterator[None]:
    """Configure the pipeline for the call and report its steps; afterwards its state is restored."""
    with _swap_components(pipeline, call), _report_steps(pipeline, on_step):
        yield


def run_call(pipeline: Any, call: PlannedCall) -> Any:
    """Make the call; an exception inside the pipeline becomes a `PipelineError` or an `OutOfMemoryError`."""
    try:
        with torch_seed(call.seed):
            return pipeline(**call.with_generator)
    except DiffprofError:
        raise
    except Exception as error:
        raise pipeline_failure(pipeline, error) from error


def check_scheduler(name: str | None, pipeline: Any = None) -> None:
    """Refuse a scheduler that diffusers does not have; the error lists those that work."""
    if name is None:
        return
    try:
        scheduler_class(name)
    except RequestError as error:
        raise RequestError(f"{error} {_available_schedulers(pipeline)}") from None


def check_cache(text: str | None) -> None:
    """Refuse a cache that diffusers does not have."""
    if text is not None:
        parse_cache(text)


def _available_schedulers(pipeline: Any) -> str:
    import diffusers

    compatible = getattr(getattr(pipeline, "scheduler", None), "compatibles", None)
    if compatible:
        return f"{type(pipeline).__name__} works with {', '.join(sorted(kind.__name__ for kind in compatible))}."
    known = (name for name in dir(diffusers) if name.endswith("Scheduler") and not name.startswith("Flax"))
    return f"Available: {', '.join(sorted(known))}."


def _explicit_arguments(request: Request, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The requested arguments without guidance; an empty negative prompt is dropped if the pipeline has none."""
    arguments = {name: value for name, value in request.arguments.items() if name != "guidance_scale"}
    if arguments.get("negative_prompt") == "" and "negative_prompt" not in parameters:
        del arguments["negative_prompt"]
    return arguments


def _default_arguments(recommended: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for what the request leaves out: from the settings, then what the model's authors recommend."""
    settings = {
        "num_inference_steps": config.DEFAULT_STEPS,
        "width": config.DEFAULT_WIDTH,
        "height": config.DEFAULT_HEIGHT,
    }
    rest = {name: value for name, value in recommended.items() if name != "guidance_scale"}
    return {**rest, **{name: value for name, value in settings.items() if value is not None}}


def _choose_guidance(
    pipeline: Any, parameters: Mapping[str, Any], request: Request, recommended: Mapping[str, Any]
) -> Guidance:
    scale, negative_prompt = request.arguments.get("guidance_scale"), request.arguments.get("negative_prompt")
    if scale is not None:
        return guidance_for(pipeline, parameters, scale, negative_prompt)
    default = config.DEFAULT_GUIDANCE_SCALE
    if default is None:
        scale = recommended.get("guidance_scale")
        return (
            Guidance({"guidance_scale": scale}) if scale is not None and "guidance_scale" in parameters else Guidance()
        )
    try:
        return guidance_for(pipeline, parameters, default, negative_prompt)
    except RequestError as error:
        return replace(Guidance(), notes=(f"the default guidance scale was left out: {error}",))


def _refuse_missing(owner: str, parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]) -> None:
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty or (name == "prompt" and "prompt_embeds" not in arguments)
        if required and name not in arguments:
            raise RequestError(f"{owner} needs the call argument {name!r}")


@contextlib.contextmanager
def _swap_components(pipeline: Any, call: PlannedCall) -> Iterator[None]:
    """Replace the scheduler, the guider or the cache during this call."""
    scheduler, guider = vars(pipeline).get("scheduler"), vars(pipeline).get("guider")
    try:
        if call.scheduler is not None:
            check_scheduler(call.scheduler, pipeline)
            swap_scheduler(pipeline, call.scheduler)
        if call.guider is not None:
            pipeline.guider = call.guider
        with _enable_cache(pipeline, call):
            yield
    finally:
        if call.scheduler is not None and scheduler is not None:
            pipeline.scheduler = scheduler
        if call.guider is not None:
            pipeline.guider = guider


@contextlib.contextmanager
def _enable_cache(pipeline: Any, call: PlannedCall) -> Iterator[None]:
    if call.cache is None:
        yield
        return
    components: list[Any] = list(components_of(pipeline).values())
    cached_before = [component for component in components if getattr(component, "is_cache_enabled", False)]
    try:
        enable_cache(pipeline, parse_cache(call.cache), call.arguments)
        yield
    finally:
        for component in components:
            if getattr(component, "is_cache_enabled", False) and component not in cached_before:
                component.disable_cache()


@contextlib.contextmanager
def _report_steps(pipeline: Any, on_step: StepCallback | None) -> Iterator[None]:
    """Replace the progress bars of the pipeline, and of pipelines inside it, by calls of `on_step`."""

    def report(done: int, total: int | None) -> None:
        if on_step is not None and not is_dry_running():
            on_step(done, total)

    owners = pipelines_in(pipeline)
    bars_before = [vars(owner).get("progress_bar") for owner in owners]
    for owner in owners:
        vars(owner)["progress_bar"] = functools.partial(_SilentBar, report)
    try:
        yield
    finally:
        for owner, bar in zip(owners, bars_before, strict=True):
            vars(owner).pop("progress_bar", None)
            if bar is not None:
                vars(owner)["progress_bar"] = bar


class _SilentBar(tqdm):  # type: ignore[misc]
    """A progress bar that draws nothing and reports each update."""

    def __init__(self, report: StepCallback, iterable: Any = None, total: int | None = None) -> None:
        super().__init__(iterable, total=total, disable=True)
        self._report, self._done = report, 0
        self._all = total if total is not None else len(iterable) if hasattr(iterable, "__len__") else None

    def update(self, n: float | None = 1) -> None:
        self._done += int(n or 0)
        self._report(self._done, self._all)

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self.update()
