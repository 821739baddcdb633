"""Counting for the page: the same as `diffprof.profile`, with the arguments that its sliders stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.record.profile import Profile
from diffprof.record.progress import Progress


@dataclass(frozen=True)
class Dial:
    """A slider: the call argument that it stands for, and how far it goes."""

    argument: str
    label: str
    least: float
    most: float
    step: float
    names: Sequence[str] = ()
    """What else pipelines call the argument."""

    @property
    def is_whole(self) -> bool:
        return isinstance(self.step, int)


DIALS = (
    Dial("width", "Width in pixels", 16, 2048, 8),
    Dial("height", "Height in pixels", 16, 2048, 8),
    Dial("num_inference_steps", "Denoising steps", 1, 150, 1, ("prior_num_inference_steps", "steps")),
    Dial("guidance_scale", "Guidance scale", 0, 20, 0.1, ("true_cfg_scale",)),
    Dial("num_images_per_prompt", "Batch", 1, 32, 1, ("num_videos_per_prompt", "batch_size")),
    Dial("num_frames", "Frames", 1, 257, 1, ("video_length", "frames")),
)


def counted(model: str, arguments: Mapping[str, Any], progress: Progress | None = None) -> Profile:
    """The profile of one generation."""
    from diffprof.counting.profile import profile

    return profile(model, progress=progress, **arguments)


def has(profile: Profile, dial: Dial) -> bool:
    """Whether the pipeline takes what the slider stands for."""
    from diffprof.pipelines.arguments import has_argument

    return has_argument(profile.request.pipeline, dial.argument) and in_force(profile, dial) is not None


def in_force(profile: Profile, dial: Dial) -> float | None:
    """The value that was used."""
    for name in (dial.argument, *dial.names):
        value = profile.request.value(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def arguments_of(values: Sequence[float | None], dials: Sequence[Dial] = DIALS) -> dict[str, Any]:
    """The call arguments that were set; None stands for those that were not."""
    return {
        dial.argument: int(value) if dial.is_whole and float(value).is_integer() else value
        for dial, value in zip(dials, values, strict=True)
        if value is not None
    }
