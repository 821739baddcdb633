"""diffusers' step caches by short name: they reuse what a denoiser computed in an earlier step."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.arguments import call_parameters
from diffprof.pipelines.components import components_of, role_of
from diffprof.record.request import JSON_WORDS


@dataclasses.dataclass(frozen=True)
class CacheChoice:
    """A cache of the installed diffusers, and its settings."""

    name: str
    config_class: Any
    settings: Mapping[str, Any]


def parse_cache(text: str) -> CacheChoice:
    """Parse ``first_block`` or ``first_block:threshold=0.1``; refuse unknown caches and settings."""
    name, _, given = text.partition(":")
    known = known_caches()
    plain_name = _normalize_name(name)
    found = next((own for own in known if _normalize_name(own) == plain_name), None)
    if found is None:
        raise RequestError(f"unknown cache {name!r}; the installed diffusers has {', '.join(known)}")
    owner = known[found]
    fields = [field.name for field in dataclasses.fields(owner) if not field.name.startswith("_")]
    if found in FIRST_SETTINGS and re.fullmatch(r"[0-9.eE+-]+", given):
        given = f"{FIRST_SETTINGS[found]}={given}"
    settings = {}
    # A comma inside a list is not followed by a name.
    for setting in re.split(r",(?=\s*\w+\s*=)", given) if given else ():
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals:
            raise RequestError(f"the settings of a cache are written {found}:key=value,key=value, not {given!r}")
        if key not in fields:
            hints = difflib.get_close_matches(key, fields, n=2)
            hint = f"did you mean {' or '.join(hints)}?" if hints else f"it has {', '.join(fields)}."
            raise RequestError(f"the cache {found} has no setting {key!r}; {hint}")
        settings[key] = _value(value)
    return CacheChoice(found, owner, settings)


def known_caches() -> dict[str, Any]:
    """Return the caches of the installed diffusers by short name: ``FirstBlockCacheConfig`` is ``first_block``."""
    import diffusers.hooks

    found = {}
    for name in sorted(vars(diffusers.hooks)):
        stem = re.fullmatch(r"(\w+?)(?:Cache|Broadcast)Config", name)
        if stem:
            short = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", stem[1]).lower()
            found[OTHER_NAMES.get(short, short)] = getattr(diffusers.hooks, name)
    return found


OTHER_NAMES = {"taylor_seer": "taylorseer"}

FIRST_SETTINGS = {
    "first_block": "threshold", "mag": "threshold", "taylorseer": "cache_interval",
    "pyramid_attention": "spatial_attention_block_skip_range", "faster": "spatial_attention_block_skip_range",
}  # fmt: skip
"""The setting for a number without a name, as in ``first_block:0.1``."""

DECIDED_BY_VALUES = ("first_block",)
"""Caches that compare values of two steps, so that what they skip depends on weights."""


def is_decided_by_values(text: str) -> bool:
    """Whether the work that the cache skips depends on weights; refuse unknown caches."""
    return parse_cache(text).name in DECIDED_BY_VALUES


def enable_cache(pipeline: Any, choice: CacheChoice, arguments: Mapping[str, Any]) -> None:
    """Enable the cache in every denoiser; `arguments` are those of the upcoming call."""
    denoisers: dict[str, Any] = {
        slot: part for slot, part in components_of(pipeline).items() if role_of(slot, part) == "denoiser"
    }
    able = {slot: part for slot, part in denoisers.items() if hasattr(part, "enable_cache")}
    if not able:
        classes = ", ".join(type(part).__name__ for part in denoisers.values()) or "no denoiser"
        raise RequestError(f"{type(pipeline).__name__} cannot use a cache: diffusers has none for its {classes}")
    for slot, denoiser in able.items():
        usual = USUAL_SETTINGS.get(choice.name, lambda *_: {})(pipeline, denoiser, arguments)
        try:
            denoiser.enable_cache(choice.config_class(**{**usual, **choice.settings}))
        except Exception as error:
            reason = " ".join(str(error).split())
            raise PipelineError(f"{slot} cannot use the cache {choice.name}: {reason}") from error
        # diffusers accepts some caches for any model, even if there is nothing to skip.
        if not any(hasattr(module, "_diffusers_hook") for path, module in denoiser.named_modules() if path):
            raise RequestError(f"the cache {choice.name} does nothing in a {type(denoiser).__name__}; choose another")


def _timestep(pipeline: Any) -> Callable[[], Any]:
    if not hasattr(type(pipeline), "current_timestep"):
        raise RequestError(f"{type(pipeline).__name__} does not expose current_timestep, which this cache needs")
    return lambda: pipeline.current_timestep


def _pyramid_attention(pipeline: Any, denoiser: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"spatial_attention_block_skip_range": 2, "current_timestep_callback": _timestep(pipeline)}


def _faster_cache(pipeline: Any, denoiser: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _defaults_of_call(pipeline)
    if "num_frames" not in parameters:
        shape = "BCHW"
    else:
        shape = "BFCHW" if type(denoiser).__name__.startswith("CogVideoX") else "BCFHW"
    return {
        "current_timestep_callback": _timestep(pipeline),
        "tensor_format": shape,
        "is_guidance_distilled": bool(getattr(denoiser.config, "guidance_embeds", False)),
    }


def _mag(pipeline: Any, denoiser: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    usual: dict[str, Any] = {}
    steps = arguments.get("num_inference_steps", _defaults_of_call(pipeline).get("num_inference_steps"))
    if isinstance(steps, int):
        usual["num_inference_steps"] = steps
    if type(denoiser).__name__ == "FluxTransformer2DModel":
        from diffusers.hooks.mag_cache import FLUX_MAG_RATIOS

        usual["mag_ratios"] = FLUX_MAG_RATIOS
    return usual


USUAL_SETTINGS: dict[str, Callable[[Any, Any, Mapping[str, Any]], dict[str, Any]]] = {
    "pyramid_attention": _pyramid_attention,
    "faster": _faster_cache,
    "mag": _mag,
}
"""Settings that a cache needs and diffusers has no defaults for."""


def _defaults_of_call(pipeline: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in call_parameters(pipeline).items()}


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _value(text: str) -> Any:
    if text.lower() in JSON_WORDS:
        return JSON_WORDS[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value
