"""Switches of a pipeline that are set before a call: its own ``enable_...`` methods and its scheduler."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any

from diffprof.errors import DiffprofError, PipelineError, RequestError
from diffprof.pipelines.plans.classes import scheduler_class

USUAL_VALUES = {"s1": 0.9, "s2": 0.2, "b1": 1.2, "b2": 1.4}
"""FreeU's four factors have no defaults; these are its authors' values for Stable Diffusion."""

COMMON_MODULES = ("diffusers.models.modeling_utils", "diffusers.loaders")
"""Modules in which diffusers defines methods of all models."""


def enable_feature(pipeline: Any, name: str) -> None:
    """Call the pipeline's own switch: ``vae_tiling`` is ``enable_vae_tiling`` or, if that is gone, that of the VAE."""
    switches = _switches(pipeline)
    if "offload" in name:
        raise RequestError(f"{name} changes where the weights are, not what is computed; leave it out of a profile")
    if name not in switches:
        known = sorted(other for other in switches if "offload" not in other)
        hints = difflib.get_close_matches(name, known, n=2)
        special = [other for other in known if not _is_common(switches[other])]
        hint = f"did you mean {' or '.join(hints)}?" if hints else f"it has {', '.join(special or known)}."
        raise RequestError(f"{type(pipeline).__name__} has nothing to enable called {name!r}; {hint}")
    try:
        switches[name](**{needed: USUAL_VALUES[needed] for needed in _required_arguments(switches[name])})
    except Exception as error:
        raise PipelineError(f"{type(pipeline).__name__} cannot enable {name}: {error}") from error


def has_feature(pipeline: Any, name: str) -> bool:
    """Whether the pipeline has a switch with this name."""
    return name in _switches(pipeline)


def _is_common(switch: Any) -> bool:
    """Whether all models have the switch, such as training or adapters, so that it need not be listed."""
    return str(getattr(switch, "__module__", "")).startswith(COMMON_MODULES)


def _required_arguments(switch: Any) -> list[str]:
    """Return the arguments of a switch without defaults."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(switch).parameters.values()
    return [
        parameter.name for parameter in parameters if parameter.default is parameter.empty and parameter.kind in kinds
    ]


def _switches(pipeline: Any) -> dict[str, Any]:
    switches: dict[str, Any] = {}
    vae = getattr(pipeline, "vae", None)
    for owner, prefix in ((vae, "vae_"), (pipeline, "")):
        for attribute in dir(type(owner)) if owner is not None else ():
            if attribute.startswith("enable_") and callable(getattr(type(owner), attribute)):
                switches[prefix + attribute.removeprefix("enable_")] = getattr(owner, attribute)
    for name in ("vae_tiling", "vae_slicing"):  # the pipeline's method only warns and calls the VAE's
        method = getattr(vae, f"enable_{name.removeprefix('vae_')}", None)
        if method is not None:
            switches[name] = method
    return {
        name: switch for name, switch in switches.items() if set(_required_arguments(switch)) <= USUAL_VALUES.keys()
    }


def swap_scheduler(pipeline: Any, name: str) -> None:
    """Replace the pipeline's scheduler, and keep its configuration."""
    owner = scheduler_class(name)
    if getattr(pipeline, "scheduler", None) is None:
        raise RequestError(f"{type(pipeline).__name__} has no scheduler to swap")
    try:
        pipeline.scheduler = owner.from_config(pipeline.scheduler.config)
    except DiffprofError:
        raise
    except Exception as error:
        raise PipelineError(f"{owner.__name__} cannot take the place of the scheduler: {error}") from error


def apply_switches(pipeline: Any, scheduler: str | None, names: Sequence[str]) -> None:
    """Replace the pipeline's scheduler and enable its features, if requested."""
    if scheduler is not None:
        swap_scheduler(pipeline, scheduler)
    for name in names:
        enable_feature(pipeline, name)
