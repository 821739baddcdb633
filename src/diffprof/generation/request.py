"""What is to be generated: checked before anything is loaded."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof import settings as config
from diffprof.errors import RequestError
from diffprof.settings.values import meant, size

LARGEST_SEED = 2**63 - 1
DRAWN_SEEDS = 2**32
"""A seed that nobody chose is short enough to be typed."""

LARGEST_SIDE = 16_384
MOST_STEPS = 100_000
MOST_FPS = 240
ONE_AT_A_TIME = ("num_images_per_prompt", "num_videos_per_prompt", "num_waveforms_per_prompt", "batch_size")
OURS = {"generator": "seed", "output_type": None, "return_dict": None, "latents": None}
"""Call arguments of pipelines that are set here, and what to use instead."""


@dataclass(frozen=True)
class Wanted:
    """One picture or film. None: not said."""

    prompt: str | None
    seed: int
    negative_prompt: str | None = None
    num_inference_steps: int | None = None
    guidance_scale: float | None = None
    width: int | None = None
    height: int | None = None
    scheduler: str | None = None
    cache: str | None = None
    """A cache of diffusers that skips what hardly changes from step to step: ``first_block``."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of the pipeline's call, under its own names."""

    @property
    def said(self) -> dict[str, Any]:
        """What was asked for, under the names that most pipelines have; without seed, scheduler, cache and guidance."""
        named = {
            "prompt": self.prompt,
            "negative_prompt": self.negative_prompt,
            "num_inference_steps": self.num_inference_steps,
            "width": self.width,
            "height": self.height,
        }
        return {**{name: value for name, value in named.items() if value is not None}, **self.more}


def wanted(
    prompt: str | None,
    negative_prompt: str | None = None,
    num_inference_steps: int | None = None,
    guidance_scale: float | None = None,
    width: int | None = None,
    height: int | None = None,
    seed: int | None = None,
    scheduler: str | None = None,
    cache: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> Wanted:
    """What was asked for; a `RequestError` says what no model could mean."""
    more = dict(more or {})
    _check_text("prompt", prompt)
    _check_text("negative_prompt", negative_prompt)
    if prompt is not None and not prompt.strip():
        raise RequestError("the prompt is empty; say what is to be seen in the picture")
    check_whole("num_inference_steps", num_inference_steps, 1, MOST_STEPS)
    check_whole("width", width, 1, LARGEST_SIDE)
    check_whole("height", height, 1, LARGEST_SIDE)
    _check_both(width or config.DEFAULT_WIDTH, height or config.DEFAULT_HEIGHT)
    if guidance_scale is not None and not (_is_number(guidance_scale) and math.isfinite(guidance_scale)):
        raise RequestError(f"guidance_scale is {guidance_scale!r}; give a number")
    _check_more(more)
    chosen = seed if seed is not None else config.DEFAULT_SEED
    return Wanted(
        prompt=prompt,
        seed=checked_seed(chosen) if chosen is not None else secrets.randbelow(DRAWN_SEEDS),
        negative_prompt=negative_prompt,
        num_inference_steps=num_inference_steps,
        guidance_scale=guidance_scale,
        width=width,
        height=height,
        scheduler=scheduler,
        cache=cache,
        more=more,
    )


def checked_seed(seed: Any) -> int:
    """The seed, if it is one."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise RequestError(
            f"the seed {seed!r} is out of range; give a whole number from 0 to {LARGEST_SEED}, or none for a random one"
        )
    return seed


def size_named(name: str) -> tuple[int, int]:
    """Width and height of a preset, or of ``512x768``."""
    presets = config.SIZE_PRESETS
    if name in presets:
        return presets[name]
    try:
        return size(name)
    except ValueError:
        hint = meant(name, presets)
        raise RequestError(f"there is no size {name!r}; give one such as 512x768, or a preset: {hint}") from None


def _check_text(name: str, text: Any) -> None:
    if text is not None and not isinstance(text, str):
        raise RequestError(f"{name} is a {type(text).__name__}; give one text for one picture")


def check_whole(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number in these bounds; None is nothing to refuse."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(f"{name} is {value!r}; give a whole number from {least} to {most}")


def _check_both(width: int | None, height: int | None) -> None:
    """Some pipelines ignore one side without the other."""
    if width is None and height is not None:
        raise RequestError(f"a height of {height} was given without a width; give both, or neither")
    if height is None and width is not None:
        raise RequestError(f"a width of {width} was given without a height; give both, or neither")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_more(more: Mapping[str, Any]) -> None:
    for name, instead in OURS.items():
        if name in more:
            raise RequestError(f"{name} is not for the caller to set{f'; use {instead}' if instead else ''}")
    for name in ONE_AT_A_TIME:
        if more.get(name) not in (None, 1):
            raise RequestError(f"one picture is made at a time; leave {name} out and use several seeds")
