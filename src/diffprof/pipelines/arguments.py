"""The call arguments of a pipeline: which it has, which it needs, and stand-ins for missing ones."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.building.modular import block_inputs
from diffprof.pipelines.components import is_modular
from diffprof.pipelines.plans.blueprint import STAND_IN
from diffprof.pipelines.plans.classes import is_installed
from diffprof.pipelines.stand_ins import (
    OPTIONAL_INPUTS,
    describe_input,
    is_optional_input,
    least_strength,
    sized_input,
    stand_in,
    stand_in_prompt,
    usual_sizes,
)
from diffprof.record.inputs import InputSize, is_input, parse_size
from diffprof.record.request import check_number
from diffprof.settings.limits import CALL_NUMBERS, OTHER_NAMES, SHORT_NAMES


@dataclass(frozen=True)
class CallArguments:
    """The arguments of a call."""

    given: Mapping[str, Any]
    stand_ins: Mapping[str, Any]
    """Required arguments that were not given."""
    on_refusal: tuple[str, ...]
    """Optional arguments without which the call may fail, and that have stand-ins; in the order to try them."""
    defaults: Mapping[str, Any]
    """The pipeline's defaults of all other arguments."""


def call_arguments(pipeline: Any, requested: Mapping[str, Any], needed: Mapping[str, Any]) -> CallArguments:
    """Check the requested arguments against the pipeline's call, and add what it also needs."""
    parameters = call_parameters(pipeline)
    given = _rename_arguments(type(pipeline).__name__, parameters, requested)
    _check_numbers(given)
    missing = {name: parameter for name, parameter in parameters.items() if name not in given}
    stand_ins = {
        **_needed_inputs(pipeline, missing, given, needed),
        **_settings_for_counting(pipeline, parameters, missing, given),
        **_settings_by_steps(parameters, missing, given),
    }
    return CallArguments(
        given=given,
        stand_ins=stand_ins,
        on_refusal=tuple(name for name in _inputs_to_try(missing) if name not in stand_ins),
        defaults={name: parameter.default for name, parameter in missing.items() if name not in stand_ins},
    )


def _needed_inputs(
    pipeline: Any, missing: Mapping[str, inspect.Parameter], given: Mapping[str, Any], needed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return stand-ins for required arguments."""
    stand_ins = {
        name: stand_in(pipeline, name, given) if value is STAND_IN else value
        for name, value in needed.items()
        if name in missing
    }
    if "prompt" in missing and not _has_any(given, ("prompt_embeds", "prompt_2", "image_embeds")):
        stand_ins["prompt"] = stand_in_prompt(pipeline)
    if _has_ip_adapter(pipeline) and not _has_any(given, ("ip_adapter_image", "ip_adapter_image_embeds")):
        stand_ins["ip_adapter_image"] = stand_in(pipeline, "ip_adapter_image", given)
    for name, parameter in missing.items():
        if parameter.default is parameter.empty and name not in stand_ins:
            stand_ins[name] = stand_in(pipeline, name, given)
    return stand_ins


def _settings_for_counting(
    pipeline: Any,
    parameters: Mapping[str, inspect.Parameter],
    missing: Mapping[str, inspect.Parameter],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Return values for arguments whose defaults would take memory, need a package, or depend on weights."""
    settings: dict[str, Any] = {}
    is_video = _has_any(parameters, ("num_frames", "video_length"))
    if "output_type" in missing and (is_video or _is_large(pipeline, given)):
        settings["output_type"] = "pt"  # the output stays a tensor: converting it to images would only take memory
    if "image_crf" in missing and not is_installed("av"):
        settings["image_crf"] = 0  # LTX-2 would first compress its image with PyAV, which is not counted
    if "enable_prompt_rewrite" in missing:
        settings["enable_prompt_rewrite"] = False  # LongCat: the length of the rewritten prompt depends on weights
    skips = "clip_skip" in missing and missing["clip_skip"].default
    if skips and not hasattr(getattr(pipeline, "text_encoder", None), "text_model"):
        settings["clip_skip"] = None  # I2VGen-XL uses the layer before the last, which transformers no longer returns
    return settings


def _settings_by_steps(
    parameters: Mapping[str, inspect.Parameter], missing: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return values for arguments whose defaults do not fit the number of steps."""
    steps, strength = given.get("num_inference_steps"), getattr(missing.get("strength"), "default", None)
    settings: dict[str, Any] = {}
    if isinstance(steps, int) and isinstance(strength, float) and (least := least_strength(steps, strength)):
        settings["strength"] = least
    return settings | _steps_of_motion(missing, steps) | _schedules(parameters, missing, given)


def _inputs_to_try(missing: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return the optional inputs without which the call may fail, common ones first."""
    common = [name for name in OPTIONAL_INPUTS if name in missing]
    absent = [name for name, parameter in missing.items() if parameter.default is None and is_optional_input(name)]
    switches = [name for name in ("output_type", "use_resolution_binning") if name in missing]
    return list(dict.fromkeys((*common, *absent, *switches)))


def _steps_of_motion(missing: Mapping[str, inspect.Parameter], steps: Any) -> dict[str, int]:
    """Return the steps between which Text2Video-Zero moves its frames, if the defaults exceed the requested steps."""
    first, last = (getattr(missing.get(name), "default", None) for name in ("t0", "t1"))
    if not (isinstance(steps, int) and isinstance(first, int) and isinstance(last, int)) or last < steps:
        return {}
    return {"t0": max(steps - 1 - (last - first), 0), "t1": steps - 1}


def _schedules(
    parameters: Mapping[str, inspect.Parameter], missing: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return per-step values, such as Ideogram's guidance schedule, resampled to the requested number of steps."""
    steps, usual = given.get("num_inference_steps"), getattr(parameters.get("num_inference_steps"), "default", None)
    found: dict[str, Any] = {}
    if isinstance(steps, int) and isinstance(usual, int) and steps not in (0, usual):
        for name, parameter in missing.items():
            values = parameter.default
            if isinstance(values, (list, tuple)) and len(values) == usual > 1:
                found[name] = [values[step * usual // steps] for step in range(steps)]
    if given.get("guidance_scale") is not None and "guidance_schedule" in missing:
        found["guidance_schedule"] = None  # they are mutually exclusive
    return found


def _is_large(pipeline: Any, given: Mapping[str, Any]) -> bool:
    width, height = usual_sizes(pipeline, given)
    return width * height * int(given.get("num_images_per_prompt") or 1) > LARGEST_IMAGE_PIXELS


LARGEST_IMAGE_PIXELS = 2048 * 2048


def call_parameters(pipeline: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of the pipeline's call, by name."""
    if is_modular(pipeline):
        return block_inputs(pipeline)
    if not callable(pipeline):
        raise RequestError(f"{type(pipeline).__name__} cannot be called; open it as one of the pipelines it stands for")
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(type(pipeline).__call__).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in kinds and name != "self"}


def own_argument_name(pipeline: str, parameters: Mapping[str, Any], name: str) -> str:
    """Return the pipeline's own name for an argument; if it has none, refuse it and suggest similar names."""
    own = find_argument(parameters, name)
    if own is None and name == "num_frames":
        raise RequestError(f"{pipeline} makes images, not videos: it takes no number of frames; leave it out.")
    if own is None:
        short = {short: full for short, full in SHORT_NAMES.items() if full in parameters}
        known = {**short, **{parameter: parameter for parameter in parameters}}
        hints = list(dict.fromkeys(known[near] for near in difflib.get_close_matches(name, known, n=3)))
        hint = f"did you mean {' or '.join(hints)}?" if hints else f"it has {', '.join(parameters)}."
        raise RequestError(f"{pipeline} has no call argument {name!r}; {hint}")
    return own


def find_argument(parameters: Mapping[str, Any], name: str) -> str | None:
    """Return the name of an argument in a call with these parameters; None if it has none."""
    return next((other for other in (name, *OTHER_NAMES.get(name, ())) if other in parameters), None)


def has_argument(pipeline_class: str, argument: str) -> bool:
    """Whether the call of a diffusers pipeline has this argument, under this or another name."""
    import diffusers

    kind = getattr(diffusers, pipeline_class, None)
    parameters = inspect.signature(kind.__call__).parameters if kind is not None else {}
    return find_argument(parameters, argument) is not None


def _rename_arguments(pipeline: str, parameters: Mapping[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
    given = {}
    for name, value in requested.items():
        own = own_argument_name(pipeline, parameters, name)
        value = _with_inputs(pipeline, own, value)
        given[own] = tuple(value) if isinstance(value, list) and _takes_tuple(parameters[own]) else value
    return given


def _with_inputs(pipeline: str, name: str, value: Any) -> Any:
    """Create images and videos that are given by size, alone or in a list; return other values unchanged."""
    if isinstance(value, InputSize):
        return sized_input(pipeline, name, value)
    if isinstance(value, str) and is_input(name):
        return sized_input(pipeline, name, parse_size(value, name))
    if isinstance(value, list) and any(isinstance(part, InputSize) for part in value):
        return [_with_inputs(pipeline, name, part) for part in value]
    return value


def _takes_tuple(parameter: inspect.Parameter) -> bool:
    """Whether the parameter is a pair, such as a size; a command line or a file can only give it as a list."""
    annotation = str(parameter.annotation).lower()
    return isinstance(parameter.default, tuple) or ("tuple" in annotation and "list" not in annotation)


def _check_numbers(given: Mapping[str, Any]) -> None:
    for name in CALL_NUMBERS:
        for own_name in (name, *OTHER_NAMES.get(name, ())):
            check_number(name, given.get(own_name), own_name)


def _has_any(names: Any, searched: tuple[str, ...]) -> bool:
    return any(name in names for name in searched)


def _has_ip_adapter(pipeline: Any) -> bool:
    for slot in ("unet", "transformer"):
        denoiser = getattr(pipeline, slot, None)
        if getattr(getattr(denoiser, "config", None), "encoder_hid_dim_type", None) == "ip_image_proj":
            return True
    return False


def json_value(value: Any) -> Any:
    """Convert a call argument to JSON; values that JSON cannot represent are described."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(name): json_value(part) for name, part in value.items()}
    if describe_input(value) is not None:
        return describe_input(value)
    if isinstance(value, (list, tuple)):
        return [json_value(part) for part in value]
    if isinstance(value, torch.Tensor):
        return f"tensor {'x'.join(map(str, value.shape)) or 'scalar'} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, torch.Generator):
        return f"generator with seed {value.initial_seed()}"
    if hasattr(value, "shape"):
        return f"array {'x'.join(map(str, value.shape))}"
    return getattr(value, "__name__", type(value).__name__)
