"""How the cost of models grows with the size of the picture and with the denoising steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.errors import DiffprofError
from diffprof.record.profile import Profile

SCALES = (0.5, 0.75, 1, 1.25, 1.5)
STEPS = (1, 10, 20, 30, 50)
FITS = 64
"""Sides that are multiples of it suit nearly all models."""

STEP_NAMES = ("num_inference_steps", "prior_num_inference_steps", "steps")
"""What pipelines call the denoising steps; asked for by the first, each understands its own."""

Requests = Mapping[int, Mapping[str, Any]]
"""Places on an axis, and the call arguments to count at each."""

Count = Callable[[str, Mapping[str, Any]], Profile]
"""Of a model, with these call arguments besides those of the request."""


@dataclass(frozen=True)
class Curve:
    """The exact MACs of one model at several places."""

    name: str
    places: Sequence[int]
    macs: Sequence[int]


@dataclass(frozen=True)
class Growth:
    """The exact cost of what is compared at several sizes and steps."""

    sizes: Sequence[Curve]
    """Over the pixels of the picture."""
    steps: Sequence[Curve]
    notes: Sequence[str] = ()
    """What could not be counted, and why."""


def growth(sources: Sequence[str | None], names: Sequence[str], profiles: Sequence[Profile], count: Count) -> Growth:
    """Curves over size and steps; a source is the name of a model, or None for a saved profile, which is a point."""
    notes: list[str] = []

    def curve(place: int, requests: Requests, own: int | None) -> Curve:
        name, profile, source = names[place], profiles[place], sources[place]
        points = {} if own is None else {own: profile.total.macs}
        problems = []
        for at, arguments in requests.items() if source is not None else ():
            try:
                points[at] = count(str(source), arguments).total.macs
            except DiffprofError as error:  # noqa: PERF203  the other places are counted all the same
                problems.append(f"{name} is not counted at every place: {error}")
        notes.extend(problems[:1])
        places = sorted(points)
        return Curve(name, places, [points[at] for at in places])

    everyone = range(len(profiles))
    sizes = [curve(place, sizes_to_count(profiles[place]), pixels(profiles[place])) for place in everyone]
    steps = [curve(place, steps_to_count(profiles[place]), denoising_steps(profiles[place])) for place in everyone]
    return Growth(sizes, steps, tuple(notes))


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
