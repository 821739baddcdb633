"""What is to be generated: checked before anything is loaded."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof import settings as config
from diffprof.errors import RequestError
from diffprof.record.request import check_number
from diffprof.settings.values import size, suggest

RANDOM_SEEDS = 2**32
"""Below this: a seed that nobody chose is short enough to be typed."""

NUMBERS = ("seed", "num_inference_steps", "guidance_scale", "width", "height")
"""Fields that the table of limits bounds."""
BATCH_ARGUMENTS = ("num_images_per_prompt", "num_videos_per_prompt", "num_waveforms_per_prompt", "batch_size")
RESERVED_ARGUMENTS = {"generator": "seed", "output_type": None, "return_dict": None, "latents": None}
"""Call arguments that are set here, and what to use instead."""


@dataclass(frozen=True)
class GenerationRequest:
    """One image or video; None stands for what was not requested. A `RequestError` refuses what no model could do."""

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
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of the pipeline's call, under its own names."""

    def __post_init__(self) -> None:
        _check_text("prompt", self.prompt)
        _check_text("negative_prompt", self.negative_prompt)
        if self.prompt is not None and not self.prompt.strip():
            raise RequestError("the prompt is empty; describe the image")
        for name in NUMBERS:
            check_number(name, getattr(self, name))
        _check_both_sides(self.width or config.DEFAULT_WIDTH, self.height or config.DEFAULT_HEIGHT)
        _check_arguments(self.arguments)

    @property
    def call_arguments(self) -> dict[str, Any]:
        """The call arguments that were requested, under the names of most pipelines; without guidance and seed."""
        named = {
            "prompt": self.prompt,
            "negative_prompt": self.negative_prompt,
            "num_inference_steps": self.num_inference_steps,
            "width": self.width,
            "height": self.height,
        }
        return {**{name: value for name, value in named.items() if value is not None}, **self.arguments}


def choose_seed(seed: int | None) -> int:
    """The requested seed, else that of the settings, else a random one."""
    if seed is None:
        seed = config.DEFAULT_SEED
    return secrets.randbelow(RANDOM_SEEDS) if seed is None else seed


def parse_size(name: str) -> tuple[int, int]:
    """Width and height of a preset, or of ``512x768``."""
    presets = config.SIZE_PRESETS
    if name in presets:
        return presets[name]
    try:
        return size(name)
    except ValueError:
        hint = suggest(name, presets)
        raise RequestError(f"there is no size {name!r}; give one such as 512x768, or a preset: {hint}") from None


def _check_text(name: str, text: Any) -> None:
    if text is not None and not isinstance(text, str):
        raise RequestError(f"{name} is a {type(text).__name__}; give one text for one image")


def _check_both_sides(width: int | None, height: int | None) -> None:
    """Some pipelines ignore one side without the other."""
    if width is None and height is not None:
        raise RequestError(f"a height of {height} was given without a width; give both, or neither")
    if height is None and width is not None:
        raise RequestError(f"a width of {width} was given without a height; give both, or neither")


def _check_arguments(arguments: Mapping[str, Any]) -> None:
    for name, instead in RESERVED_ARGUMENTS.items():
        if name in arguments:
            raise RequestError(f"{name} cannot be set by the caller{f'; use {instead}' if instead else ''}")
    for name in BATCH_ARGUMENTS:
        if arguments.get(name) not in (None, 1):
            raise RequestError(f"one image is generated at a time; leave {name} out and use several seeds")
