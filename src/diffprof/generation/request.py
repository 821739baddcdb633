"""Complete and check the request of a generation: one image or video, with a seed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffprof import settings as config
from diffprof.errors import RequestError
from diffprof.record.request import Request, check_number
from diffprof.settings.values import size, suggest

RANDOM_SEEDS = 2**32
"""Random seeds are below this, so that they are short enough to type."""

NAMED_ARGUMENTS = ("prompt", "negative_prompt", "num_inference_steps", "guidance_scale", "width", "height")
"""The call arguments that are parameters of `generate_image`; None means not given."""
BATCH_ARGUMENTS = ("num_images_per_prompt", "num_videos_per_prompt", "num_waveforms_per_prompt", "batch_size")
RESERVED_ARGUMENTS = {"generator": "seed", "output_type": None, "return_dict": None, "latents": None}
"""Call arguments that the caller cannot set, and what to use instead."""


def complete(request: Request) -> Request:
    """Add a seed and remove empty arguments; a `RequestError` if no model could generate the request.

    A complete request is returned unchanged.
    """
    seed = _requested_seed(request)
    arguments = {
        name: value
        for name, value in request.arguments.items()
        if name != "seed" and not (value is None and name in NAMED_ARGUMENTS)
    }
    _check_prompt(arguments)
    _check_both_sides(arguments)
    _check_one_image(arguments)
    if request.enable or request.random_weights:
        raise RequestError("switches and random weights are for measuring; `diffprof run` has both")
    return replace(request, arguments=arguments, seed=_choose_seed() if seed is None else seed)


def seed_of(request: Request) -> int:
    """The seed of a complete request."""
    if request.seed is None:
        raise ValueError("the request has no seed; `complete` adds one")
    return request.seed


def parse_size(name: str) -> tuple[int, int]:
    """Parse a preset, a size such as ``512x768``, or one number for a square, into width and height."""
    presets = config.SIZE_PRESETS
    if name in presets:
        return presets[name]
    try:
        return size(f"{name}x{name}" if name.isascii() and name.isdecimal() else name)
    except ValueError:
        hint = suggest(name, presets)
        raise RequestError(f"there is no size {name!r}; give one such as 512x768, or a preset: {hint}") from None


def _requested_seed(request: Request) -> int | None:
    """The seed of the request, which may also be given as a call argument."""
    seed: int | None = request.arguments.get("seed")
    if seed is None:
        return request.seed
    if request.seed is not None:
        raise RequestError("The call argument seed is given twice; leave one out.")
    check_number("seed", seed)
    return seed


def _choose_seed() -> int:
    """The seed of the settings, else a random one."""
    return secrets.randbelow(RANDOM_SEEDS) if config.DEFAULT_SEED is None else config.DEFAULT_SEED


def _check_prompt(arguments: Mapping[str, Any]) -> None:
    for name in ("prompt", "negative_prompt"):
        text = arguments.get(name, "")
        if not isinstance(text, str):
            raise RequestError(f"{name} is a {type(text).__name__}; give one text for one image")
    if "prompt" in arguments and not arguments["prompt"].strip():
        raise RequestError("the prompt is empty; describe the image")


def _check_both_sides(arguments: Mapping[str, Any]) -> None:
    """Refuse one side without the other, which some pipelines ignore."""
    width = arguments.get("width", config.DEFAULT_WIDTH)
    height = arguments.get("height", config.DEFAULT_HEIGHT)
    if width is None and height is not None:
        raise RequestError(f"a height of {height} was given without a width; give both, or neither")
    if height is None and width is not None:
        raise RequestError(f"a width of {width} was given without a height; give both, or neither")


def _check_one_image(arguments: Mapping[str, Any]) -> None:
    for name, instead in RESERVED_ARGUMENTS.items():
        if name in arguments:
            raise RequestError(f"{name} cannot be set by the caller{f'; use {instead}' if instead else ''}")
    for name in BATCH_ARGUMENTS:
        if arguments.get(name) not in (None, 1):
            raise RequestError(f"one image is generated at a time; leave {name} out and use several seeds")
