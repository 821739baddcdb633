"""The call that a pipeline makes of what is wanted: its arguments, and making it."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tqdm.std import tqdm  # type: ignore[import-untyped]

from diffprof import settings as config
from diffprof.counting.dry_run import is_dry_running
from diffprof.errors import DiffprofError, RequestError
from diffprof.generation.guidance import Guidance, guidance_for
from diffprof.generation.noise import generator_of, seeded
from diffprof.generation.request import Wanted
from diffprof.pipelines.arguments import OTHER_NAMES
from diffprof.pipelines.classes import scheduler_class
from diffprof.pipelines.components import components_of
from diffprof.pipelines.failures import pipeline_failure
from diffprof.pipelines.step_caches import enable_cache, parse_cache
from diffprof.pipelines.switches import swap_scheduler

StepEnded = Callable[[int, int | None], None]
"""Told how many steps are done, and of how many."""


@dataclass(frozen=True)
class PlannedCall:
    """A call of one pipeline."""

    arguments: dict[str, Any]
    """All but the generator, which has a state and is made anew for each call."""
    seed: int
    takes_generator: bool = True
    scheduler: str | None = None
    cache: str | None = None
    guider: Any = None
    notes: tuple[str, ...] = ()

    @property
    def with_generator(self) -> dict[str, Any]:
        return {**self.arguments, **({"generator": generator_of(self.seed)} if self.takes_generator else {})}


def planned(pipeline: Any, asked: Wanted, recommended: Mapping[str, Any]) -> PlannedCall:
    """The call for what was asked; a `RequestError` names an argument that the pipeline lacks, or needs besides."""
    parameters = _parameters(pipeline)
    owner = type(pipeline).__name__
    arguments = {_own_name(owner, parameters, name): value for name, value in _explicit(asked, parameters).items()}
    guidance, notes = _guidance(pipeline, parameters, asked, recommended), []
    arguments |= guidance.arguments
    for name, value in _usual(recommended).items():
        found = _found(parameters, name)
        if found is None:
            notes.append(f"{owner} has no {name}: the usual {value} was left out")
        else:
            arguments.setdefault(found, value)
    _refuse_missing(owner, parameters, arguments)
    return PlannedCall(
        arguments=arguments,
        seed=asked.seed,
        takes_generator="generator" in parameters,
        scheduler=asked.scheduler,
        cache=asked.cache,
        guider=guidance.guider,
        notes=(*guidance.notes, *notes),
    )


@contextlib.contextmanager
def prepared(pipeline: Any, call: PlannedCall, step_ended: StepEnded | None = None) -> Iterator[None]:
    """Inside, the pipeline is as the call needs it, and tells of its steps; it belongs to others too."""
    with _with_parts(pipeline, call), _reporting(pipeline, step_ended):
        yield


def make(pipeline: Any, call: PlannedCall) -> Any:
    """Make the call; what goes wrong inside is told in a sentence."""
    try:
        with seeded(call.seed):
            return pipeline(**call.with_generator)
    except DiffprofError:
        raise
    except Exception as error:
        raise pipeline_failure(pipeline, error) from error


def checked_scheduler(name: str | None, pipeline: Any = None) -> None:
    """Refuse the name of a scheduler that diffusers does not have, with those that it has."""
    if name is None:
        return
    try:
        scheduler_class(name)
    except RequestError as error:
        raise RequestError(f"{error} {_all_schedulers(pipeline)}") from None


def checked_cache(text: str | None) -> None:
    """Refuse a cache that diffusers does not have."""
    if text is not None:
        parse_cache(text)


def _all_schedulers(pipeline: Any) -> str:
    import diffusers

    own = getattr(getattr(pipeline, "scheduler", None), "compatibles", None)
    if own:
        return f"With {type(pipeline).__name__} work {', '.join(sorted(one.__name__ for one in own))}."
    known = (name for name in dir(diffusers) if name.endswith("Scheduler") and not name.startswith("Flax"))
    return f"There are {', '.join(sorted(known))}."


def _parameters(pipeline: Any) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    signature = inspect.signature(type(pipeline).__call__)
    return {name: one for name, one in signature.parameters.items() if one.kind in kinds and name != "self"}


def _explicit(asked: Wanted, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody asked for; an empty negative prompt asks for nothing where there is none."""
    said = asked.said
    if said.get("negative_prompt") == "" and "negative_prompt" not in parameters:
        del said["negative_prompt"]
    return said


def _usual(recommended: Mapping[str, Any]) -> dict[str, Any]:
    """What is used where nothing is asked for: of the settings, else what the model's makers use."""
    settings = {
        "num_inference_steps": config.DEFAULT_STEPS,
        "width": config.DEFAULT_WIDTH,
        "height": config.DEFAULT_HEIGHT,
    }
    rest = {name: value for name, value in recommended.items() if name != "guidance_scale"}
    return {**rest, **{name: value for name, value in settings.items() if value is not None}}


def _guidance(pipeline: Any, parameters: Mapping[str, Any], asked: Wanted, recommended: Mapping[str, Any]) -> Guidance:
    if asked.guidance_scale is not None:
        return guidance_for(pipeline, parameters, asked.guidance_scale, asked.negative_prompt)
    usual = config.DEFAULT_GUIDANCE_SCALE
    if usual is None:
        scale = recommended.get("guidance_scale")
        return (
            Guidance({"guidance_scale": scale}) if scale is not None and "guidance_scale" in parameters else Guidance()
        )
    try:
        return guidance_for(pipeline, parameters, usual, asked.negative_prompt)
    except RequestError as error:
        return replace(Guidance(), notes=(f"the usual guidance scale was left out: {error}",))


def _own_name(owner: str, parameters: Mapping[str, Any], name: str) -> str:
    found = _found(parameters, name)
    if found is None:
        hints = difflib.get_close_matches(name, parameters, n=3)
        hint = f"did you mean {' or '.join(hints)}?" if hints else f"it has {', '.join(parameters)}."
        raise RequestError(f"{owner} has no call argument {name!r}; {hint}")
    return found


def _found(parameters: Mapping[str, Any], name: str) -> str | None:
    return next((other for other in (name, *OTHER_NAMES.get(name, ())) if other in parameters), None)


def _refuse_missing(owner: str, parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]) -> None:
    for name, parameter in parameters.items():
        needed = parameter.default is parameter.empty or (name == "prompt" and "prompt_embeds" not in arguments)
        if needed and name not in arguments:
            raise RequestError(f"{owner} needs the call argument {name!r}")


@contextlib.contextmanager
def _with_parts(pipeline: Any, call: PlannedCall) -> Iterator[None]:
    """Another scheduler or guider for this call, or a cache."""
    scheduler, guider = vars(pipeline).get("scheduler"), vars(pipeline).get("guider")
    try:
        if call.scheduler is not None:
            checked_scheduler(call.scheduler, pipeline)
            swap_scheduler(pipeline, call.scheduler)
        if call.guider is not None:
            pipeline.guider = call.guider
        with _with_cache(pipeline, call):
            yield
    finally:
        if call.scheduler is not None and scheduler is not None:
            pipeline.scheduler = scheduler
        if call.guider is not None:
            pipeline.guider = guider


@contextlib.contextmanager
def _with_cache(pipeline: Any, call: PlannedCall) -> Iterator[None]:
    if call.cache is None:
        yield
        return
    parts: list[Any] = list(components_of(pipeline).values())
    before = [part for part in parts if getattr(part, "is_cache_enabled", False)]
    try:
        enable_cache(pipeline, parse_cache(call.cache), call.arguments)
        yield
    finally:
        for part in parts:
            if getattr(part, "is_cache_enabled", False) and part not in before:
                part.disable_cache()


@contextlib.contextmanager
def _reporting(pipeline: Any, step_ended: StepEnded | None) -> Iterator[None]:
    """Let the bars that the pipeline and its parts would draw tell us instead how far they are."""

    def told(done: int, total: int | None) -> None:
        if step_ended is not None and not is_dry_running():
            step_ended(done, total)

    holders = [pipeline, *(part for part in vars(pipeline).values() if hasattr(part, "register_modules"))]
    before = [vars(holder).get("progress_bar") for holder in holders]
    for holder in holders:
        vars(holder)["progress_bar"] = functools.partial(_Bar, told)
    try:
        yield
    finally:
        for holder, own in zip(holders, before, strict=True):
            vars(holder).pop("progress_bar", None)
            if own is not None:
                vars(holder)["progress_bar"] = own


class _Bar(tqdm):  # type: ignore[misc]
    """Draws nothing."""

    def __init__(self, told: StepEnded, iterable: Any = None, total: int | None = None) -> None:
        super().__init__(iterable, total=total, disable=True)
        self._told, self._done = told, 0
        self._all = total if total is not None else len(iterable) if hasattr(iterable, "__len__") else None

    def update(self, n: float | None = 1) -> None:
        self._done += int(n or 0)
        self._told(self._done, self._all)

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self.update()
