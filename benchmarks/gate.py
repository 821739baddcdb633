"""How often the gate is wrong: ``python -m benchmarks.gate [ROUNDS]`` prints rates as JSON.

Three small pipelines run in turns in one process: twice the same one, and one that takes a tenth longer, as its UNet,
which takes nine tenths of the time, computes every ninth call twice. Stretches of 20 rounds are the samples of one
decision: about the same code (a failed gate is a false alarm) and about the slower code (a failed gate has found it).
Sampled one after the other, a stretch is held against the next one of the same pipeline. Only the limits on times are
checked.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median, stdev
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from tests.small_pipelines import SMALL_PIPELINES

import diffprof
from diffprof.comparison import Pair
from diffprof.comparison.gate import FAILED, PASSED, TIMED, gate, parse_limits
from diffprof.comparison.times import cpu_share, time_changes
from diffprof.record.profile import Profile

SAMPLES, STEPS, SIDE, ROUNDS, NEXT = 20, 9, 64, 300, 5


class NinthMore(UNet2DConditionModel):  # type: ignore[misc]  # diffusers has no types
    """Computes every ninth call twice, which is once in each generation."""

    calls = itertools.count(1)

    def forward(self, *arguments: Any, **named: Any) -> Any:
        if next(self.calls) % STEPS == 0:
            super().forward(*arguments, **named)
        return super().forward(*arguments, **named)


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    pipelines = [_pipeline(kind) for kind in (UNet2DConditionModel, UNet2DConditionModel, NinthMore)]
    one, same, slower = diffprof.measure_in_turns(
        *pipelines, warmup=2, iterations=rounds, prompt="a cat", height=SIDE, width=SIDE, num_inference_steps=STEPS,
        output_type="latent",
    )  # fmt: skip
    stretches = [list(_stretches(side)) for side in (one, same, slower)]
    in_turns = list(zip(*stretches, strict=True))
    equal = [pair for first, second, _ in in_turns for pair in ((first, second), (second, first))]
    apart = SAMPLES // NEXT
    after = [
        (_alone(first), _alone(second))
        for side in stretches[:2]
        for first, second in zip(side, side[apart:], strict=False)
    ]
    found = {
        "equal_in_turns": [_outcome(*pair) for pair in equal],
        "equal_one_after_the_other": [_outcome(*pair) for pair in after],
        "slower_in_turns": [_outcome(first, third) for first, _, third in in_turns],
    }
    results = {
        name: {"decisions": len(outcomes), **{what: outcomes.count(what) for what in (PASSED, FAILED)}}
        for name, outcomes in found.items()
    }
    walls = [iteration.wall.host_ns for iteration in _timed(one)]
    more = {
        "median_ms": median(walls) / 1e6,
        "spread": stdev(walls) / median(walls),
        "cpu_share": cpu_share(one.measured) if one.measured else None,
        "slower": median(i.cpu_ns or 0 for i in _timed(slower)) / median(i.cpu_ns or 0 for i in _timed(one)),
    }
    print(json.dumps({**results, **more}, indent=2))  # noqa: T201


def _pipeline(kind: type[UNet2DConditionModel]) -> Any:
    """A small Stable Diffusion that does little but denoise."""
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    torch.manual_seed(0)
    pipeline.unet = kind.from_config(pipeline.unet.config).eval()
    return pipeline


def _timed(profile: Profile) -> Sequence[Any]:
    return profile.measured.timed_iterations if profile.measured else ()


def _stretches(profile: Profile) -> Iterator[Profile]:
    """Every 20 neighbouring iterations, from every fifth on."""
    assert profile.measured is not None
    timed = _timed(profile)
    for start in range(0, len(timed) - SAMPLES + 1, NEXT):
        yield replace(profile, measured=replace(profile.measured, iterations=tuple(timed[start : start + SAMPLES])))


def _alone(profile: Profile) -> Profile:
    """The same as if it had not been measured in turns."""
    assert profile.measured is not None
    return replace(profile, measured=replace(profile.measured, turns=None))


def _outcome(before: Profile, after: Profile) -> str:
    # The other tables of a pair say nothing about times.
    pair = Pair((), (), (), (), time_changes(_without_sections(before), _without_sections(after)))
    return gate(pair, parse_limits(TIMED)).outcome


def _without_sections(profile: Profile) -> Profile:
    """Only the whole calls, which the limits are on: the rest would take most of the minutes."""
    assert profile.measured is not None
    bare = tuple(replace(one, samples=(), steps=(), memory=()) for one in profile.measured.iterations)
    return replace(profile, measured=replace(profile.measured, iterations=bare))


if __name__ == "__main__":
    main()
