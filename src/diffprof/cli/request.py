"""From the options of the command line to the call arguments of a pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from diffprof.errors import RequestError

# Larger than any picture that was ever generated, small enough to be counted.
LIMITS = {
    "height": 16_384,
    "width": 16_384,
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

DTYPES = {
    "float32": "float32", "fp32": "float32", "float16": "float16", "fp16": "float16", "half": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16", "float64": "float64",
}  # fmt: skip

VALUES = "VALUE: numbers, true/false, none, [lists], anything else is text."

_WORDS = {"true": True, "false": False, "none": None, "null": None}


def call_arguments(options: Mapping[str, str | None], settings: Iterable[str]) -> dict[str, Any]:
    """The arguments that were given: those with an option of their own, and those of ``--set KEY=VALUE``."""
    arguments = {name: _number(name, text) for name, text in options.items() if text is not None}
    for setting in settings:
        name, value = parse_setting(setting)
        if name in arguments:
            raise RequestError(f"The call argument {name} is given twice; leave one out.")
        arguments[name] = value
    for name, value in arguments.items():
        _check(name, value)
    return arguments


def dtype_name(typed: str | None) -> str | None:
    """The dtype by its full name, so that all ways to write it are one request."""
    if typed is None:
        return None
    name = DTYPES.get(typed.lower().removeprefix("torch."))
    if name is None:
        raise RequestError(f"Unknown dtype {typed!r}; use float32, float16 or bfloat16.")
    return name


def whole_number(option: str, text: str) -> int:
    """The number that was typed for an option."""
    try:
        return int(text)
    except ValueError:
        raise RequestError(f"{option} must be a whole number, not {text!r}.") from None


def _number(name: str, text: str) -> int | float:
    option = f"--{OPTIONS.get(name, name)}"
    if name in LIMITS:
        return whole_number(option, text)
    try:
        return float(text)
    except ValueError:
        raise RequestError(f"{option} must be a number, not {text!r}.") from None


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
    """``KEY=VALUE`` as a name and a value: JSON where it reads as JSON, else text that opens no bracket."""
    name, equals, value = setting.partition("=")
    if not equals or not name.isidentifier():
        raise RequestError(f"--set takes KEY=VALUE with the name of a call argument as KEY, not {setting!r}.")
    if name in RESERVED:
        raise RequestError(f"{name} is not a call argument; `diffprof profile --help` lists the options for it.")
    return name, _value(name, value)


def _value(name: str, text: str) -> Any:
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    try:
        return json.loads(_pair_as_list(word))
    except (ValueError, RecursionError):
        if not word.startswith(("[", "{", "(")):
            return text
    shown = word if len(word) <= 40 else f"{word[:40]}..."
    raise RequestError(
        f"The value of --set {name} does not read as a list: {shown}; "
        'write [1, 2] or ["a", "b"], and put double quotes around a text that begins with a bracket.'
    )


def _pair_as_list(text: str) -> str:
    """``(512, 512)`` as ``[512, 512]``: Python's way to write a pair, which JSON does not have."""
    if text.startswith("(") and text.endswith(")"):
        return f"[{text[1:-1].strip().removesuffix(',')}]"
    return text
