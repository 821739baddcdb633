"""Seeded times with the noise of a machine under other load, modelled on real samples of small pipelines.

On two cores that ten programs shared, calls of 0.1 s of CPU time took 0.2 to 0.6 s: they ran at a level that held for
some seconds and then jumped, as others came and went, and neighbours resembled each other. Their CPU time spread by 3 %
and more. On a quiet machine times spread by 1 to 2 %, drift a little, and one in twenty is far too long.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from diffprof.record.measured import Device, Iteration, Measured, Span
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, GPU
from tests.sample_profiles import stable_diffusion

SECOND = 1_000_000_000


def run_of(
    times: Sequence[int],
    *,
    device: Device = GPU,
    warmups: Sequence[int] = (),
    cpu_share: float | None = None,
    turns: str | None = None,
) -> Profile:
    """A run whose calls took these times in nanoseconds; on a CPU it had `cpu_share` of one core."""
    every = [(time, True) for time in warmups] + [(time, False) for time in times]
    iterations = tuple(
        Iteration(
            number * SECOND,
            Span(0, time),
            warmup=warmup,
            cpu_ns=None if cpu_share is None else round(time * cpu_share),
        )
        for number, (time, warmup) in enumerate(every)
    )
    return replace(stable_diffusion(), measured=Measured(device, iterations, repeated=True, turns=turns))


def quiet(source: random.Random, count: int, slowdown: float = 1.0) -> list[int]:
    """Correlated noise of 2 %, a drift of up to 1 %, and one outlier in twenty of up to twice the time."""
    drift, own, times = source.uniform(-0.01, 0.01), 0.0, []
    for number in range(count):
        own = 0.3 * own + source.gauss(0, 0.019)
        far = source.uniform(0.1, 0.7) if source.random() < 0.05 else 0.0
        times.append(round(SECOND * slowdown * math.exp(own + drift * number / count + far)))
    return times


def levels(source: random.Random, count: int) -> list[float]:
    """The slowdown by other load, which stays the same for several calls."""
    found: list[float] = []
    while len(found) < count:
        found += [source.uniform(1.1, 3.5)] * source.randint(3, 40)
    return found[:count]


def busy_one_after_the_other(source: random.Random, count: int, slowdown: float = 1.0) -> tuple[Profile, Profile]:
    """Two runs, one after the other."""
    level = levels(source, 2 * count)
    times = [round(SECOND * one * math.exp(source.gauss(0, 0.02))) for one in level]
    share = 1 / (sum(level) / len(level))
    before = run_of(times[:count], device=CPU, cpu_share=share)
    return before, run_of([round(slowdown * time) for time in times[count:]], device=CPU, cpu_share=share)


def busy_in_turns(source: random.Random, count: int, slowdown: float = 1.0) -> tuple[Profile, Profile]:
    """Two runs in turns: calls with the same index ran one right after the other, in random order."""
    level = levels(source, 2 * count)
    before, after = [], []
    for number in range(count):
        pair = [SECOND * one * math.exp(source.gauss(0, 0.02)) for one in level[2 * number : 2 * number + 2]]
        source.shuffle(pair)
        before.append(round(pair[0]))
        after.append(round(slowdown * pair[1]))
    return run_of(before, device=CPU, turns="a"), run_of(after, device=CPU, turns="a")
