"""Compare a law with dry runs of random requests."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from diffprof.counting.derivation.design import random_numbers
from diffprof.counting.derivation.difference import difference
from diffprof.counting.derivation.ranges import SCALES
from diffprof.counting.derivation.sampling import CountedSample, Sampler
from diffprof.laws.folding import NegativeCount
from diffprof.laws.law import Domain, Law
from diffprof.laws.packing import NoLaw
from diffprof.laws.programs import OutsideOfLaw
from diffprof.record.document import encode_profile


def prove_law(law: Law, number: int, seed: int) -> None:
    """Count random requests, and refuse the law if it differs for one of them."""
    rng = random.Random(seed)
    sampler = Sampler(law.model)
    for _ in range(number):
        domain = rng.choice(law.domains)
        sample = sampler.run(random_arguments(law, domain, rng), anew=True, variation=domain.variation)
        compare_with_sample(law, sample)


def compare_with_sample(law: Law, sample: CountedSample) -> None:
    """Refuse a law that differs from the counted sample."""
    arguments = dict(sample.request.arguments)
    try:
        profile = replace(law.profile(sample.request), counted_by=sample.profile.counted_by)
        is_equal = profile == sample.profile and encode_profile(profile) == encode_profile(sample.profile)
    except (OutsideOfLaw, NegativeCount) as error:
        raise NoLaw(f"{arguments} is outside: {error}") from error
    if not is_equal:
        found = difference(profile, sample.profile)
        raise NoLaw(f"the law of {law.model} does not hold for {arguments}: {found}")


def random_arguments(law: Law, domain: Domain, rng: random.Random) -> dict[str, Any]:
    """Return the call arguments of a random request in the domain of a program."""
    numbers = random_numbers(domain, rng)
    arguments = law.arguments(numbers)
    if law.guidance is not None and f"{law.guidance}_2" not in law.fixed:
        arguments[law.guidance] = SCALES[rng.choice(domain.guidance)]
    return arguments
