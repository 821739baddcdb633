"""Group guidance scales with which a pipeline executes the same operations."""

from __future__ import annotations

from typing import Any

from diffprof.counting.derivation.ranges import SCALES
from diffprof.counting.derivation.sampling import CountedSample, Sampler
from diffprof.errors import DiffprofError
from diffprof.laws.law import GUIDANCE_CLASSES, guidance_class
from diffprof.laws.packing import NoLaw

Group = tuple[float | None, tuple[str, ...]]
"""A scale, and the classes of scales that have the same effect."""


def guidance_groups(sampler: Sampler, default: CountedSample, argument: str | None, every: bool) -> list[Group]:
    """Return groups of guidance scales, with that of the default scale first, and the others only if `every` is set."""
    if argument is None:
        return [(None, ())]
    scale = default.profile.request.value(argument)
    used = guidance_class(scale)
    if not every:
        return [(scale, (used,))]
    found: list[tuple[float, list[str], dict[str, Any]]] = []
    for name in (used, *(name for name in reversed(GUIDANCE_CLASSES) if name != used)):
        values = _values(sampler, {argument: SCALES[name]})
        if values is None:
            continue
        same = next((group for group in found if group[2] == values), None)
        if same is None:
            found.append((SCALES[name], [name], values))
        else:
            same[1].append(name)
    if not found or used not in found[0][1]:
        raise NoLaw("the pipeline accepts no guidance scale like the one that it recommends")
    return [(one, tuple(classes)) for one, classes, _ in found]


def _values(sampler: Sampler, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return the values of a call; None if the pipeline refuses the scale."""
    try:
        return sampler.run(arguments).values
    except DiffprofError:
        return None
