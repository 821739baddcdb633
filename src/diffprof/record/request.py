"""What a user asks for: one value, checked once, from the command line, the page and Python down to the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.changes import Changes
from diffprof.record.inputs import parse_size
from diffprof.record.preparation import PREPARATIONS, Preparation
from diffprof.settings.limits import CALL_NUMBERS, LIMITS, dtype_name

CHANGES = tuple(one.name for one in fields(Changes))
"""The names of the changes that can be made to a model."""

RESERVED = ("model", "dtype", "scheduler", "enable", "progress", "config", "assume_defaults", *CHANGES)
"""What the engine takes beside call arguments: each has an option of its own."""

JSON_WORDS = {"true": True, "false": False, "none": None, "null": None}
"""Words that stand for a JSON value, in any case."""


@dataclass(frozen=True)
class Request:
    """A model and how it is to be called; None, or absence, stands for what was not given.

    `create` and `parse` check it; what only a pipeline can know is for the pipeline's own code to say.
    """

    model: str | Path
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Call arguments under the names of most pipelines: prompt, height, num_inference_steps, guidance_scale..."""
    dtype: str | None = None
    """Its full name."""
    scheduler: str | None = None
    enable: tuple[str, ...] = ()
    """Switches of the pipeline, such as ``vae_tiling``."""
    seed: int | None = None
    device: str | None = None
    offload: str | None = None
    random_weights: bool = False
    config: str | None = None
    """The model that a weight file has its configuration from, where it is not to be found out."""
    component: str | None = None
    """The one component that is called, by itself and once; all of them in a pipeline's call if None."""
    method: str | None = None
    """The method of that component to call, such as ``decode``; its forward pass if None."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The shapes, such as ``1x4096x64`` or ``1x77:int64``, or values of that component's inputs, by name."""
    assume_defaults: bool = False
    """A model of the pipeline whose configuration is missing is built from its class's own defaults."""
    pipeline_defaults: bool = False
    """The pipeline's own defaults for what is not given, instead of what is recommended for the model."""
    recommended: tuple[str, ...] = ()
    """The call arguments that were not given, and that the catalogue recommends for the model."""
    changes: Changes = field(default_factory=Changes)
    """What is changed about the model before the call."""
    preparation: Preparation = field(default_factory=Preparation)
    """How it is prepared where it is really run: files, compilation, devices, ranks."""
    count: bool = False
    """Counted by a dry run also where the model has a law, which says the same."""

    @property
    def cache(self) -> str | None:
        return self.changes.cache

    @classmethod
    def create(
        cls,
        model: str | Path,
        arguments: Mapping[str, Any] | None = None,
        *,
        dtype: Any = None,
        enable: str | Iterable[str] | None = None,
        seed: int | None = None,
        option_names: bool = False,
        changes: Changes | None = None,
        **others: Any,
    ) -> Request:
        """The request, if all numbers and names in it can be meant; an error can name options instead of arguments."""
        for name, value in (arguments or {}).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise RequestError(f"{_label(name, option_names)} must be a finite number, not {value}.")
        for name in CALL_NUMBERS:
            check_number(name, (arguments or {}).get(name), _label(name, option_names))
        check_number("seed", seed, _label("seed", option_names))
        given = {name: others.pop(name) for name in CHANGES if name in others}
        prepared = {name: others.pop(name) for name in PREPARATIONS if name in others}
        return cls(
            model,
            dict(arguments or {}),
            dtype=dtype_name(dtype),
            enable=(enable,) if isinstance(enable, str) else tuple(enable or ()),
            seed=seed,
            changes=Changes.create(**given) if changes is None else changes,
            preparation=Preparation.create(**prepared),
            **others,
        )

    @classmethod
    def parse(
        cls,
        model: str | Path,
        numbers: Mapping[str, str | None],
        settings: Iterable[str] = (),
        *,
        texts: Mapping[str, str | None] | None = None,
        sizes: Mapping[str, Iterable[str] | None] | None = None,
        seed: str | None = None,
        **others: Any,
    ) -> Request:
        """The request that options of the command line spell: numbers and texts by call argument, and KEY=VALUE.

        `sizes` are those of images and videos by call argument, several for a call that takes several.
        """
        arguments: dict[str, Any] = {name: text for name, text in (texts or {}).items() if text is not None}
        arguments |= {name: parse_number(name, text) for name, text in numbers.items() if text is not None}
        for name, typed in (sizes or {}).items():
            parsed = [parse_size(text, f"--{name.removesuffix('_image')}") for text in typed or ()]
            arguments |= {name: parsed[0] if len(parsed) == 1 else parsed} if parsed else {}
        for setting in settings:
            name, value = parse_setting(setting)
            if name in arguments:
                raise RequestError(f"The call argument {name} is given twice; leave one out.")
            arguments[name] = value
        number = None if seed is None else parse_number("seed", seed)
        return cls.create(model, arguments, seed=number, option_names=True, **others)

    def with_arguments(self, changes: Mapping[str, Any]) -> Request:
        """The same with other call arguments."""
        return replace(self, arguments={**self.arguments, **changes})


def _label(name: str, option_names: bool) -> str:
    """What an error calls a number."""
    if not option_names:
        return name
    return LIMITS[name].option if name in LIMITS else f"--set {name}"


def check_number(name: str, value: Any, where: str = "") -> None:
    """Refuse an implausible number; an error calls it what `where` says."""
    limit = LIMITS[name]
    # None is the pipeline's default, and some pipelines take a list, or an array, of guidance scales.
    if value is not None and (limit.is_whole or isinstance(value, str | int | float)):
        limit.check(value, where)


def parse_number(name: str, text: str) -> Any:
    """The number that was typed for an option."""
    return LIMITS[name].parse(text, LIMITS[name].option)


def parse_rate(option: str, text: str, most: float = 1.0) -> float:
    """A number from 0 to `most` that was typed for an option."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise RequestError(f"{option} must be a number from 0 to {most:,g}, not {text!r}.")
    return value


def parse_inputs(texts: Iterable[str], component: str | None, method: str | None = None) -> dict[str, str]:
    """``NAME=SHAPE`` of every input of a component."""
    if method is not None and component is None:
        raise RequestError("--method is for a single component; name it with --component.")
    inputs: dict[str, str] = {}
    for text in texts:
        name, equals, shape = text.partition("=")
        if not equals or not name.isidentifier() or not shape.strip():
            raise RequestError(f"--input takes NAME=SHAPE, such as hidden_states=1x4096x64, not {text!r}.")
        if name in inputs:
            raise RequestError(f"The input {name} is given twice; leave one out.")
        inputs[name] = shape
    if inputs and component is None:
        raise RequestError("--input is for a single component; name it with --component.")
    return inputs


def parse_setting(setting: str) -> tuple[str, Any]:
    """``KEY=VALUE`` as a name and a value: JSON where it reads as JSON, else text that opens no bracket."""
    name, equals, value = setting.partition("=")
    if not equals or not name.isidentifier():
        raise RequestError(f"--set takes KEY=VALUE with the name of a call argument as KEY, not {setting!r}.")
    if name in RESERVED:
        raise RequestError(f"{name} is not a call argument; `diffprof profile --help` lists the options for it.")
    return name, _parse_value(name, value)


def _parse_value(name: str, text: str) -> Any:
    word = text.strip()
    if word.lower() in JSON_WORDS:
        return JSON_WORDS[word.lower()]
    try:
        return json.loads(_pair_as_list(word))
    except (ValueError, RecursionError):
        if not word.startswith(("[", "{", "(")):
            return text
    excerpt = word if len(word) <= 40 else f"{word[:40]}..."
    raise RequestError(
        f"The value of --set {name} does not read as a list: {excerpt}; "
        'write [1, 2] or ["a", "b"], and put double quotes around a text that begins with a bracket.'
    )


def _pair_as_list(text: str) -> str:
    """``(512, 512)`` as ``[512, 512]``: Python's way to write a pair, which JSON does not have."""
    if text.startswith("(") and text.endswith(")"):
        return f"[{text[1:-1].strip().removesuffix(',')}]"
    return text
