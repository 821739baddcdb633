"""Choose the requests to derive the law of a model from, and those to prove it with."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from diffprof.laws.fitting import SIDES
from diffprof.laws.law import Domain, Range, volume
from diffprof.laws.variables import Variable

SIDE_STEPS = {8: (-64, 8, 16, 72), 16: (-64, 16, 80), 32: (-64, 32, 96), 64: (-64, 64, 192), 128: (-128, 128, 384)}
"""Offsets from the base in pixels, by cell: enough to tell quadratics with different roundings apart."""
BASE_SIDES = {"height": 640, "width": 896}
BASE_VIDEO_SIDES = {"height": 384, "width": 640}
LARGEST_ROUNDING = 128
MAX_TRIES = 10_000
TOKENS = (5, 3, 9, 14)
OFF_AXES = 3
"""The number of samples in which all values change; with frames there are more products to tell apart."""


@dataclass(frozen=True)
class SamplePlan:
    """The samples for one program."""

    samples: Sequence[Mapping[str, int]]
    """The numbers of each sample; the first is the base."""
    axes: Mapping[str, Sequence[int]]
    variables: Sequence[Variable]


def plan_samples(domain: Domain, base: Mapping[str, int], steps: Sequence[int], cell: int) -> SamplePlan:
    """Plan samples along each axis from the base, and some off all axes; sides change by multiples of a cell."""
    ranges = domain.ranges
    samples: list[dict[str, int]] = [dict(base)]
    axes: dict[str, list[int]] = {}
    # Frames first, because they often follow no polynomial, which then shows early.
    for source in sorted(base, key=lambda source: source != "num_frames"):
        axes[source] = [0]
        for value in _axis_values(source, ranges[source], base[source], steps, cell):
            if value != base[source] and is_inside(domain, {**base, source: value}):
                axes[source].append(len(samples))
                samples.append({**base, source: value})
    rng = random.Random(0)
    has_frames = "num_frames" in base and ranges["num_frames"].most > ranges["num_frames"].least
    enough = len(samples) + (2 * OFF_AXES if has_frames else OFF_AXES)
    enough = enough if len([source for source in base if len(axes[source]) > 1]) > 1 else len(samples)
    for _ in range(MAX_TRIES):
        if len(samples) >= enough:
            break
        sample = {source: _random_value(source, ranges[source], base[source], steps, cell, rng) for source in base}
        if is_inside(domain, sample) and sample not in samples:
            samples.append(sample)
    changing = [source for source in base if ranges[source].most > ranges[source].least]
    variables = [variable for source in changing for variable in _variables(source, ranges[source])]
    return SamplePlan(samples, axes, variables)


def frames_per_cell(pipeline: Any) -> int:
    """Return how many frames of a video share one frame of latents."""
    for name in ("vae_scale_factor_temporal", "vae_temporal_compression_ratio"):
        if isinstance(getattr(pipeline, name, None), int):
            return int(getattr(pipeline, name))
    return 1


def _axis_values(source: str, bounds: Range, base: int, steps: Sequence[int], cell: int) -> list[int]:
    if source in SIDES:
        return [base + step for step in SIDE_STEPS[cell]]
    if source == "num_frames":
        return [base + bounds.multiple * step for step in (-1, 1, 2, 3, 4, 7)]
    if source == "num_images_per_prompt":
        return [4, 5, 7]
    return list(TOKENS[1:] if source == "tokens" else steps[1:])


def _random_value(source: str, bounds: Range, base: int, steps: Sequence[int], cell: int, rng: random.Random) -> int:
    if bounds.least == bounds.most:
        return base
    if source in SIDES:
        value = base + cell * rng.randint(-128 // cell, 512 // cell)
    elif source == "num_frames":
        value = base + bounds.multiple * rng.randint(-1, 9)
    elif source == "num_images_per_prompt":
        value = rng.choice((3, 4, 5))
    elif source == "tokens":
        value = rng.randint(1, max(TOKENS))
    else:
        value = rng.choice(list(steps))
    return value if value in bounds else base


def _variables(source: str, bounds: Range) -> list[Variable]:
    if source in SIDES:
        divisors = [bounds.multiple * 2**power for power in range(8) if bounds.multiple * 2**power <= LARGEST_ROUNDING]
        found = []
        for divisor in reversed(divisors):
            found.append(Variable(source, divisor))
            if divisor > bounds.multiple:
                found.append(Variable(source, divisor, is_rounded_up=True))
        return sorted(found, key=lambda variable: variable.divisor)
    if source == "num_frames":
        return [Variable(source, divisor, offset) for divisor, offset in _frame_divisors(bounds)]
    return [Variable(source)]


def _frame_divisors(bounds: Range) -> list[tuple[int, int]]:
    offset = -(bounds.offset % bounds.multiple) if bounds.multiple > 1 else 0
    return [(bounds.multiple, offset)]


AREAS = ((1024, 1024),)
"""Sizes that are always tried, because a dry run does not compute large tables."""


def requests_to_prove(domain: Domain, base: Mapping[str, int], number: int, seed: int = 1) -> list[dict[str, int]]:
    """Return the ends of the domain and random requests between them, small ones first."""
    rng = random.Random(seed)
    ranges = domain.ranges
    ends = [
        {**base, **{source: bounds.least for source, bounds in ranges.items() if source in SIDES}},
        {**base, **{source: bounds.most for source, bounds in ranges.items() if source in SIDES}},
    ]
    for source in ("num_images_per_prompt", "num_frames", "tokens"):
        if source in ranges:
            ends += [{**base, source: ranges[source].least}, {**base, source: ranges[source].most}]
    if set(SIDES) <= set(ranges):
        ends += [{**base, "height": height, "width": width} for height, width in AREAS]
    ends += [random_numbers(domain, rng) for _ in range(number)]
    if domain.sizes:
        ends += [{**base, "height": height, "width": width} for height, width in (domain.sizes[0], domain.sizes[-1])]
    chosen = [one for place, one in enumerate(ends) if one not in ends[:place]]
    return sorted((one for one in chosen if is_inside(domain, one)), key=volume)


def few_steps(domain: Domain) -> int:
    """Return a small number of steps in the domain."""
    steps = domain.ranges.get("num_inference_steps")
    return 1 if steps is None else min(max(steps.least, 3), steps.most)


def is_inside(domain: Domain, numbers: Mapping[str, int]) -> bool:
    """Whether the domain has a request with these numbers, for any guidance."""
    return domain.contains(numbers, None, pixels_of(numbers))


def _random_in_range(source: str, bounds: Range, rng: random.Random) -> int:
    most = max(bounds.least, min(bounds.most, 40)) if source == "num_inference_steps" else bounds.most
    first = bounds.least + (bounds.offset - bounds.least) % bounds.multiple
    return rng.randrange(first, most + 1, bounds.multiple)


def random_numbers(domain: Domain, rng: random.Random) -> dict[str, int]:
    """Return the numbers of a random request in the domain."""
    while True:
        numbers = {source: _random_in_range(source, bounds, rng) for source, bounds in domain.ranges.items()}
        if domain.sizes:
            numbers["height"], numbers["width"] = rng.choice(domain.sizes)
        if is_inside(domain, numbers):
            return numbers


def base_sides(domain: Domain, base: Mapping[str, int], cell: int) -> dict[str, int] | None:
    """Return a height and a width with room for samples around them; None if the domain is too narrow."""
    for grid in BASE_GRIDS:
        sides = range(grid, domain.ranges["height"].most + 1, grid)
        found = [
            (_distance(height, width, base), height, width)
            for height in sides
            for width in sides
            if height != width and _has_room_around(domain, base, height, width, cell)
        ]
        if found:
            return {"height": min(found)[1], "width": min(found)[2]}
    return None


BASE_GRIDS = (LARGEST_ROUNDING // 2, 16)
"""Multiples for the sides of a base, in pixels; a domain of small images has no multiple of the first."""


def _has_room_around(domain: Domain, base: Mapping[str, int], height: int, width: int, cell: int) -> bool:
    """Whether all samples around a base are in the domain."""
    around = [(height, width)]
    around += [(height + step, width) for step in SIDE_STEPS[cell]]
    around += [(height, width + step) for step in SIDE_STEPS[cell]]
    return all(is_inside(domain, {**base, "height": high, "width": wide}) for high, wide in around)


def _distance(height: int, width: int, base: Mapping[str, int]) -> float:
    """Return how far a size is from the base and from the usual aspect ratio."""
    return abs(log(height * width / (base["height"] * base["width"]))) + abs(log(width / height / USUAL_ASPECT))


USUAL_ASPECT = 1.4


def pixels_of(numbers: Mapping[str, Any]) -> int:
    return int(numbers.get("height", 1) * numbers.get("width", 1) * numbers.get("num_images_per_prompt", 1))
