"""Compares a law with dry runs of random requests that it was proved for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffprof.counting.derivation.sampling import Sampler
from diffprof.laws.law import Domain, Law, volume
from diffprof.laws.packing import NoLaw
from diffprof.record.document import encode_profile

SCALES = {"none": 0.0, "below 1": 0.5, "1": 1.0, "above 1": 6.5}
MOST_STEPS_TRIED = 40


def prove_law(law: Law, number: int, seed: int) -> None:
    """Count random requests, and refuse the law if it says anything else about one of them."""
    rng = random.Random(seed)
    sampler = Sampler(law.model)
    for _ in range(number):
        arguments = random_arguments(law, rng)
        sample = sampler.run(arguments)
        profile = replace(law.profile(sample.request), counted_by=sample.profile.counted_by)
        if profile != sample.profile or encode_profile(profile) != encode_profile(sample.profile):
            raise NoLaw(f"the law of {law.model} does not hold for {arguments}")


def random_arguments(law: Law, rng: random.Random) -> dict[str, Any]:
    """Call arguments somewhere in the domain of one of the programs."""
    while True:
        domain = rng.choice(law.domains)
        numbers = {source: _anywhere(domain, source, rng) for source in domain.ranges}
        arguments: dict[str, Any] = {law.sources[source]: value for source, value in numbers.items()}
        if law.guidance is not None:
            arguments[law.guidance] = SCALES[rng.choice(domain.guidance)]
        if _is_inside(domain, numbers):
            return arguments


def _anywhere(domain: Domain, source: str, rng: random.Random) -> int:
    bounds = domain.ranges[source]
    most = max(bounds.least, min(bounds.most, MOST_STEPS_TRIED)) if source == "num_inference_steps" else bounds.most
    first = bounds.least + (bounds.offset - bounds.least) % bounds.multiple
    return rng.randrange(first, most + 1, bounds.multiple)


def _is_inside(domain: Domain, numbers: Mapping[str, int]) -> bool:
    pixels = numbers.get("height", 0) * numbers.get("width", 0) * numbers.get("num_images_per_prompt", 1)
    if domain.most_pixels is not None and pixels > domain.most_pixels:
        return False
    return domain.most_volume is None or volume(numbers) <= domain.most_volume
