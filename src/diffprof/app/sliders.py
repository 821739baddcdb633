"""The sliders of the Profile tab, and the call arguments they set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.counting.request_profile import count_request
from diffprof.laws.law_file import packaged_law
from diffprof.record.profile import LAW, Profile
from diffprof.record.progress import Progress
from diffprof.record.request import Request
from diffprof.settings.limits import OTHER_NAMES


@dataclass(frozen=True)
class Slider:
    """The call argument of a slider, and its range."""

    argument: str
    label: str
    least: float
    most: float
    step: float

    @property
    def is_integer(self) -> bool:
        return isinstance(self.step, int)


SLIDERS = (
    Slider("width", "Width in pixels", 16, 2048, 8),
    Slider("height", "Height in pixels", 16, 2048, 8),
    Slider("num_inference_steps", "Denoising steps", 1, 150, 1),
    Slider("guidance_scale", "Guidance scale", 0, 20, 0.1),
    Slider("num_images_per_prompt", "Batch", 1, 32, 1),
    Slider("num_frames", "Frames", 1, 257, 1),
)


SIZE = {"width", "height"}


def count_model(model: str, arguments: Mapping[str, Any], progress: Progress | None = None) -> Profile:
    """Count one generation; the disk cache is used if it was counted before."""
    return count_request(Request.create(model, arguments), progress=progress)


def applies_to(profile: Profile, slider: Slider) -> bool:
    """Whether the pipeline takes the argument of the slider."""
    if current_value(profile, slider) is None:
        return False
    law = packaged_law(profile.request.model) if profile.counted_by == LAW else None
    if law is not None:  # it lists the arguments of the call, and needs no import of torch
        return any(name in law.parameters for name in (slider.argument, *OTHER_NAMES.get(slider.argument, ())))
    from diffprof.pipelines.arguments import has_argument

    return has_argument(profile.request.pipeline, slider.argument)


def slider_values(profile: Profile) -> dict[str, float]:
    """The values of the sliders that apply to the profile's model, by argument."""
    values = {slider.argument: current_value(profile, slider) for slider in SLIDERS if applies_to(profile, slider)}
    return {argument: value for argument, value in values.items() if value is not None}


def current_value(profile: Profile, slider: Slider) -> float | None:
    """The value of the slider's argument in the profile."""
    for name in (slider.argument, *OTHER_NAMES.get(slider.argument, ())):
        value = profile.request.value(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def arguments_for(own: Profile, moved: Mapping[str, Any]) -> dict[str, Any]:
    """The call arguments for the sliders that were moved and that apply to the model.

    If only one of width and height was moved, the other is added: pipelines ignore one without the other.
    """
    known = slider_values(own)
    given = {name: value for name, value in moved.items() if name in known}
    if SIZE & set(given):
        given = {**{name: int(value) for name, value in known.items() if name in SIZE}, **given}
    return given


def slider_arguments(values: Sequence[float | None], sliders: Sequence[Slider] = SLIDERS) -> dict[str, Any]:
    """Convert slider values to call arguments; the value of a slider that does not apply is None."""
    return {
        slider.argument: int(value) if slider.is_integer and float(value).is_integer() else value
        for slider, value in zip(sliders, values, strict=True)
        if value is not None
    }
