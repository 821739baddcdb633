"""Curves of the cost of models over the size of the image and the denoising steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.errors import DiffprofError
from diffprof.record.profile import Profile

SCALES = (0.5, 0.75, 1, 1.25, 1.5)
STEPS = (1, 10, 20, 30, 50)
SIDE_MULTIPLE = 64
"""Nearly all models accept sides that are multiples of this."""

STEP_NAMES = ("num_inference_steps", "prior_num_inference_steps", "steps")
"""The names of the step argument; requests use the first, which is translated for each pipeline."""

Requests = Mapping[int, Mapping[str, Any]]
"""The call arguments to count with, by the position on the axis."""

Count = Callable[[str, Mapping[str, Any]], Profile]
"""Counts a model with additional call arguments."""


@dataclass(frozen=True)
class Curve:
    """The exact MACs of one model at several sizes or step counts."""

    name: str
    places: Sequence[int]
    macs: Sequence[int]


@dataclass(frozen=True)
class Growth:
    """The exact cost of the compared models at several sizes and step counts."""

    sizes: Sequence[Curve]
    """Curves over the pixels of the image."""
    steps: Sequence[Curve]
    notes: Sequence[str] = ()
    """Messages about points that could not be counted."""


def growth(models: Sequence[str | None], names: Sequence[str], profiles: Sequence[Profile], count: Count) -> Growth:
    """Count the curves over size and steps; a saved profile, whose model is None, is a single point."""
    notes: list[str] = []

    def curve(place: int, requests: Requests, own_place: int | None) -> Curve:
        name, profile, model = names[place], profiles[place], models[place]
        points = {} if own_place is None else {own_place: profile.total.macs}
        problems = []
        for at, arguments in requests.items() if model is not None else ():
            try:
                points[at] = count(str(model), arguments).total.macs
            except DiffprofError as error:  # noqa: PERF203  the other sizes are still counted
                problems.append(f"{name} could not be counted everywhere: {error}")
        notes.extend(problems[:1])
        places = sorted(points)
        return Curve(name, places, [points[at] for at in places])

    all_places = range(len(profiles))
    sizes = [curve(place, size_requests(profiles[place]), pixels(profiles[place])) for place in all_places]
    steps = [curve(place, step_requests(profiles[place]), denoising_steps(profiles[place])) for place in all_places]
    return Growth(sizes, steps, tuple(notes))


def pixels(profile: Profile) -> int | None:
    """The pixels of the requested image; None if the request has no size."""
    width, height = _int_argument(profile, "width"), _int_argument(profile, "height")
    return width * height if width and height else None


def denoising_steps(profile: Profile) -> int | None:
    """The requested steps; None if the request has none."""
    return next((count for name in STEP_NAMES if (count := _int_argument(profile, name))), None)


def size_requests(profile: Profile) -> Requests:
    """Requests with sides from 0.5 to 1.5 times those of the profile, by pixels."""
    width, height = _int_argument(profile, "width"), _int_argument(profile, "height")
    if not width or not height:
        return {}
    sides = [
        [max(SIDE_MULTIPLE, round(side * scale / SIDE_MULTIPLE) * SIDE_MULTIPLE) for side in (width, height)]
        for scale in SCALES
    ]
    return {wide * high: {"width": wide, "height": high} for wide, high in sides}


def step_requests(profile: Profile) -> Requests:
    """Requests with different numbers of steps."""
    return {count: {"num_inference_steps": count} for count in STEPS} if denoising_steps(profile) else {}


def _int_argument(profile: Profile, argument: str) -> int | None:
    value = profile.request.value(argument)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
