"""From the options of the command line to the call arguments of a pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from diffprof.errors import RequestError

# Larger than any picture that was ever generated, small enough to be counted.
LIMITS = {
    "height": 100_000,
    "width": 100_000,
    "num_inference_steps": 100_000,
    "num_images_per_prompt": 10_000,
    "num_frames": 100_000,
}

# The options that stand for a call argument under another name.
OPTIONS = {
    "num_inference_steps": "steps",
    "guidance_scale": "guidance",
    "num_images_per_prompt": "batch",
    "num_frames": "frames",
}

# What the engine takes beside call arguments: each has an option of its own.
RESERVED = ("model", "dtype", "scheduler", "enable", "progress")

_WORDS = {"true": True, "false": False, "none": None, "null": None}


def call_arguments(options: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """The arguments that were given: those with an option of their own, and those of ``--set KEY=VALUE``."""
    arguments = {name: value for name, value in options.items() if value is not None}
    for setting in settings:
        name, value = parse_setting(setting)
        if name in arguments:
            raise RequestError(f"The call argument {name} is given twice; leave one out.")
        arguments[name] = value
    for name, value in arguments.items():
        _check(name, value)
    return arguments


def _check(name: str, value: Any) -> None:
    """Refuse what no pipeline can mean; what this pipeline cannot do is for its own code to say."""
    option = f"--{OPTIONS.get(name, name)}"
    if isinstance(value, float) and not math.isfinite(value):
        raise RequestError(f"{option} must be a finite number, not {value}.")
    # None and lists are left to the pipeline: some have a meaning for them.
    if name in LIMITS and isinstance(value, int | float | str):
        if type(value) is not int:
            raise RequestError(f"{option} must be a whole number, not {value!r}.")
        if not 1 <= value <= LIMITS[name]:
            raise RequestError(f"{option} must be from 1 to {LIMITS[name]:,}, not {value:,}.")


def parse_setting(setting: str) -> tuple[str, Any]:
    """``KEY=VALUE`` as a name and a value: JSON where it reads as JSON, else the text itself."""
    name, equals, value = setting.partition("=")
    if not equals or not name.isidentifier():
        raise RequestError(f"--set takes KEY=VALUE with the name of a call argument as KEY, not {setting!r}.")
    if name in RESERVED:
        raise RequestError(f"{name} is not a call argument; `diffprof profile --help` lists the options for it.")
    return name, _value(value)


def _value(text: str) -> Any:
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
