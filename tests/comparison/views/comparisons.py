"""Comparisons for the tests of their views."""

from __future__ import annotations

import random

from diffprof.comparison import Comparison, compare
from diffprof.comparison.views.console import print_comparison
from diffprof.record.profile import Profile
from diffprof.render.console import render_text
from tests.comparison.noise import SECOND, quiet, run_of
from tests.sample_profiles import everything_measured, hostile, measured_profile, nothing, stable_diffusion


def compare_as_letters(*profiles: Profile, **options: object) -> Comparison:
    return compare(profiles, [chr(ord("A") + number) for number in range(len(profiles))], **options)  # type: ignore[arg-type]


def console_text(comparison: Comparison, width: int = 110) -> str:
    return render_text(lambda console: print_comparison(comparison, console), width)


def fewer_steps() -> Comparison:
    return compare_as_letters(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21))


def two_runs() -> Comparison:
    source = random.Random(1)
    before = run_of([*quiet(source, 20), 9 * SECOND], warmups=[5 * SECOND])
    return compare_as_letters(before, run_of(quiet(source, 20, 1.2)))


EVERY = [
    fewer_steps,
    two_runs,
    lambda: compare_as_letters(stable_diffusion(), stable_diffusion()),
    lambda: compare_as_letters(stable_diffusion(), measured_profile()),
    lambda: compare_as_letters(measured_profile(), measured_profile(), everything_measured()),
    lambda: compare_as_letters(hostile(), nothing()),
    lambda: compare_as_letters(nothing(), hostile(), stable_diffusion()),
]
