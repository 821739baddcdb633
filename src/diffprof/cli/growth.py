"""How the cost of what is compared grows: models are counted at several sizes and steps, saved profiles are points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diffprof.analyse.curves import Requests, denoising_steps, pixels, sizes_to_count, steps_to_count
from diffprof.errors import DiffprofError
from diffprof.profiles.record import Profile
from diffprof.render.figures.curves import Curve
from diffprof.render.report.comparison import Growth

Count = Callable[[str, Mapping[str, Any]], Profile]
"""Of a model, with these call arguments besides those of the request."""


def growth(sources: Sequence[str | None], names: Sequence[str], profiles: Sequence[Profile], count: Count) -> Growth:
    """Curves over size and steps; a source is the name of a model, or None for a saved profile."""
    notes: list[str] = []

    def curve(place: int, requests: Requests, own: int | None) -> Curve:
        name, profile, source = names[place], profiles[place], sources[place]
        points = {} if own is None else {own: profile.total.macs}
        try:
            for at, arguments in requests.items() if source is not None else ():
                points[at] = count(str(source), arguments).total.macs
        except DiffprofError as error:
            notes.append(f"{name} is not counted at every place: {error}")
        places = sorted(points)
        return Curve(name, places, [points[at] for at in places])

    everyone = range(len(profiles))
    sizes = [curve(place, sizes_to_count(profiles[place]), pixels(profiles[place])) for place in everyone]
    steps = [curve(place, steps_to_count(profiles[place]), denoising_steps(profiles[place])) for place in everyone]
    return Growth(sizes, steps, tuple(notes))
