"""Which requests of a model are counted to find its law, and which to prove it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.laws.law import Range, volume
from diffprof.laws.variables import Variable

SIDES = ("height", "width")
SIDE_STEPS = (-8, 1, 2, 3, 5, 10)
"""Around the base, in cells of the lattice: all remainders of 2, 4 and 8 occur."""
FINE_STEPS = (1, 11, 31)
"""In pixels, where any number of pixels is accepted and rounded."""
BASE_SIDES = {"height": 640, "width": 896}
BASE_VIDEO_SIDES = {"height": 384, "width": 640}
BASE_IMAGES = 3
"""Not 1 or 2: operations on one image, or on one with and one without guidance, would be taken for others."""
LARGEST_ROUNDING = 128
OFF_AXES = 6
"""Samples in which everything changes; with frames there are more products to tell apart."""


@dataclass(frozen=True)
class Plan:
    """The samples of one program."""

    samples: Sequence[Mapping[str, int]]
    """The numbers of each: the first is the base."""
    axes: Mapping[str, Sequence[int]]
    variables: Sequence[Variable]


def plan_samples(
    ranges: Mapping[str, Range], base: Mapping[str, int], steps: Sequence[int], most_pixels: int | None
) -> Plan:
    """Samples along each axis from the base, and some off all axes."""
    samples: list[dict[str, int]] = [dict(base)]
    axes: dict[str, list[int]] = {}
    for source in base:
        axes[source] = [0]
        for value in _axis_values(source, ranges[source], base[source], steps):
            if value != base[source] and value in ranges[source]:
                axes[source].append(len(samples))
                samples.append({**base, source: value})
    rng = random.Random(0)
    enough = len(samples) + (2 * OFF_AXES if "num_frames" in base else OFF_AXES)
    while len(samples) < enough:
        sample = {source: _random_value(source, ranges[source], base[source], steps, rng) for source in base}
        if most_pixels is None or pixels_of(sample) <= most_pixels:
            samples.append(sample)
    variables = [variable for source in base for variable in _variables(source, ranges[source])]
    return Plan(samples, axes, variables)


def _axis_values(source: str, bounds: Range, base: int, steps: Sequence[int]) -> list[int]:
    if source in SIDES:
        cell = max(bounds.multiple, 8)
        fine = [base + step for step in FINE_STEPS] if bounds.multiple == 1 else []
        return [base + cell * step for step in SIDE_STEPS] + fine
    if source == "num_frames":
        return [base + bounds.multiple * step for step in (-1, 1, 2, 3, 4, 7)]
    if source == "num_images_per_prompt":
        return [4, 5, 7]
    return list(steps[1:])


def _random_value(source: str, bounds: Range, base: int, steps: Sequence[int], rng: random.Random) -> int:
    if source in SIDES:
        cell = 1 if bounds.multiple == 1 else max(bounds.multiple, 8)
        value = base + cell * rng.randint(-128 // cell, 512 // cell)
    elif source == "num_frames":
        value = base + bounds.multiple * rng.randint(-1, 9)
    elif source == "num_images_per_prompt":
        value = rng.choice((3, 4, 5))
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


AREAS = ((512, 768), (1024, 1024), (1280, 1536), (1536, 1536))
"""Sizes that are always tried: a dry run does not compute large tables for real."""

STEPS_TO_PROVE = (1, 2, 3, 4, 6, 8, 10, 15, 16, 28, 50, 100)


def requests_to_prove(
    ranges: Mapping[str, Range], base: Mapping[str, int], most_pixels: int | None, number: int, seed: int = 1
) -> list[dict[str, int]]:
    """The ends of the domain, and random requests between them."""
    rng = random.Random(seed)
    chosen: list[dict[str, int]] = []
    ends = [
        {**base, **{source: bounds.least for source, bounds in ranges.items() if source in SIDES}},
        {**base, **{source: bounds.most for source, bounds in ranges.items() if source in SIDES}},
        {**base, **{source: bounds.most for source, bounds in ranges.items() if source == "num_images_per_prompt"}},
        {**base, **{source: bounds.most for source, bounds in ranges.items() if source == "num_frames"}},
    ]
    if set(SIDES) <= set(ranges):
        ends += [{**base, "height": height, "width": width} for height, width in AREAS]
    for end in ends:
        if end != dict(base) and end not in chosen:
            chosen.append(end)
    while len(chosen) < number + len(ends):
        chosen.append({source: _anywhere(source, ranges[source], rng) for source in base})
    inside = [one for one in chosen if all(one[source] in bounds for source, bounds in ranges.items())]
    return sorted((one for one in inside if most_pixels is None or pixels_of(one) <= most_pixels), key=volume)


def _anywhere(source: str, bounds: Range, rng: random.Random) -> int:
    most = min(bounds.most, 40) if source == "num_inference_steps" else bounds.most
    first = bounds.least + (bounds.offset - bounds.least) % bounds.multiple
    return rng.randrange(first, most + 1, bounds.multiple)


def pixels_of(numbers: Mapping[str, Any]) -> int:
    return int(numbers.get("height", 1) * numbers.get("width", 1) * numbers.get("num_images_per_prompt", 1))
