"""A request: one value, checked once, from the command line, the page and Python down to the engine."""

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
"""Names that are not call arguments, because each has its own option."""

JSON_WORDS = {"true": True, "false": False, "none": None, "null": None}
"""Words for JSON values, in any case."""


@dataclass(frozen=True)
class Request:
    """A model and how to call it; None or absence means not given.

    `create` and `parse` check it; the pipeline's own code checks what only it can know.
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
    """The model whose configuration a weight file uses; found automatically if None."""
    component: str | None = None
    """A single component to call once, without the pipeline; None for a call of the pipeline."""
    method: str | None = None
    """The method of that component to call, such as ``decode``; its forward pass if None."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The shapes, such as ``1x4096x64`` or ``1x77:int64``, or values of that component's inputs, by name."""
    assume_defaults: bool = False
    """Whether to build models without a configuration from the defaults of their classes."""
    pipeline_defaults: bool = False
    """Whether to use the pipeline's own defaults instead of the settings that are recommended for the model."""
    recommended: tuple[str, ...] = ()
    """Call arguments that were not given and that the catalogue recommends for the model."""
    changes: Changes = field(default_factory=Changes)
    """Changes to the model before the call."""
    preparation: Preparation = field(default_factory=Preparation)
    """How the pipeline is prepared for a real run: files, compilation, devices, ranks."""
    count: bool = False
    """Whether to count with a dry run even if the model has a law."""

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
        """Check the numbers and names and create a request; errors can name options instead of arguments."""
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
        """Parse options of the command line: numbers and texts by call argument, and KEY=VALUE.

        `sizes` are those of images and videos by call argument; a call argument can have several.
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
        """Return the request with other call arguments."""
        return replace(self, arguments={**self.arguments, **changes})


def _label(name: str, option_names: bool) -> str:
    """Return the name of a number for errors."""
    if not option_names:
        return name
    return LIMITS[name].option if name in LIMITS else f"--set {name}"


def check_number(name: str, value: Any, where: str = "") -> None:
    """Refuse an implausible number; an error calls it `where`."""
    limit = LIMITS[name]
    # None means the pipeline's default, and some pipelines take a list or an array of guidance scales.
    if value is not None and (limit.is_whole or isinstance(value, str | int | float)):
        limit.check(value, where)


def parse_number(name: str, text: str) -> Any:
    """Parse the number of an option."""
    return LIMITS[name].parse(text, LIMITS[name].option)


def parse_rate(option: str, text: str, most: float = 1.0) -> float:
    """Parse a number from 0 to `most` of an option."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise RequestError(f"{option} must be a number from 0 to {most:,g}, not {text!r}.")
    return value


def parse_inputs(texts: Iterable[str], component: str | None, method: str | None = None) -> dict[str, str]:
    """Parse ``NAME=SHAPE`` for every input of a component."""
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
    """Parse ``KEY=VALUE`` into a name and a value: JSON if it is valid, else a string without an opening bracket."""
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
    """Convert ``(512, 512)``, a pair in Python, to the JSON list ``[512, 512]``."""
    if text.startswith("(") and text.endswith(")"):
        return f"[{text[1:-1].strip().removesuffix(',')}]"
    return text
