"""How the cost of a model grows with the size of the picture and with the denoising steps: where to count it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffprof.profiles.record import Profile

SCALES = (0.5, 0.75, 1, 1.25, 1.5)
STEPS = (1, 10, 20, 30, 50)
FITS = 64
"""Sides that are multiples of it suit nearly all models."""

STEP_NAMES = ("num_inference_steps", "prior_num_inference_steps", "steps")
"""What pipelines call the denoising steps; asked for by the first, each understands its own."""

Requests = Mapping[int, Mapping[str, Any]]
"""Places on an axis, and the call arguments to count at each."""


def pixels(profile: Profile) -> int | None:
    """Of the picture that was asked for; None where the request has no size."""
    width, height = _whole(profile, "width"), _whole(profile, "height")
    return width * height if width and height else None


def denoising_steps(profile: Profile) -> int | None:
    """That were asked for; None where the request has none."""
    return next((count for name in STEP_NAMES if (count := _whole(profile, name))), None)


def sizes_to_count(profile: Profile) -> Requests:
    """From half to one and a half times the sides that the profile has; by pixels."""
    width, height = _whole(profile, "width"), _whole(profile, "height")
    if not width or not height:
        return {}
    sides = [[max(FITS, round(side * scale / FITS) * FITS) for side in (width, height)] for scale in SCALES]
    return {wide * high: {"width": wide, "height": high} for wide, high in sides}


def steps_to_count(profile: Profile) -> Requests:
    """From one step to many."""
    return {count: {"num_inference_steps": count} for count in STEPS} if denoising_steps(profile) else {}


def _whole(profile: Profile, argument: str) -> int | None:
    value = profile.request.value(argument)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
